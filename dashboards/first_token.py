"""The dashboard *First-token latency*: what a person waits, and what the wait is made of."""

from __future__ import annotations

from dashboards import queries as q
from dashboards.model import Board, Kind, Panel, Query, Row
from dashboards.prometheus_names import label_name
from dashboards.targets import FIRST_TOKEN_TARGET_S, OBJECTIVE
from llmphases import conventions as names
from llmphases.phases import Cost, Phase

TARGET = "$target"
"""A pattern for `le`, chosen on the dashboard."""
_FIRST = names.CALL_FIRST_TOKEN
_QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_ALLOWED = 1 - OBJECTIVE
_WINDOWS = {"5 minutes": "5m", "1 hour": "1h", "6 hours": "6h"}
_OLD_PROVIDER = label_name("gen_ai.system")
_SERVER_FIRST_TOKEN = names.Metric("gen_ai.server.time_to_first_token", "s", "as others tell it")


def _over_target(window: str) -> str:
    in_time = q.grown(_FIRST, f'{q.OF_CALL}, le=~"{TARGET}"', window, "bucket")
    return f"1 - {q.ratio(in_time, q.grown(_FIRST, q.OF_CALL, window, 'count'))}"


def _quantiles(window: str, *, exemplars: bool = False) -> tuple[Query, ...]:
    buckets = q.growth(_FIRST, q.OF_CALL, window, "bucket")
    return tuple(
        Query(q.quantile(share, buckets), name, has_exemplars=exemplars)
        for name, share in _QUANTILES.items()
    )


def _quantiles_by(*labels: str, legend: str) -> tuple[Query, ...]:
    buckets = q.growth(_FIRST, q.OF_CALL, q.STEP, "bucket")
    return tuple(
        Query(q.quantile(share, buckets, labels), f"{legend} {name}")
        for name, share in _QUANTILES.items()
    )


def _made_of(window: str) -> Query:
    """Mean seconds of each phase before a first token, over the calls that have one."""
    before = f'{q.OF_CALL}, {q.COST}="{Cost.FIXED}", {q.PHASE}!="{Phase.PROCESS_SHUTDOWN}"'
    alike = ("job", q.CALL, q.PROVIDER, q.MODEL)
    seconds = q.growth(names.PHASE_DURATION, before, window, "sum")
    streamed = q.grown(_FIRST, q.OF_CALL, window, "count", alike)
    chosen = f"{seconds} and on ({', '.join(alike)}) ({streamed} > 0)"
    calls = q.grown(_FIRST, q.OF_CALL, window, "count")
    return Query(
        f"{q.total(chosen, [q.PHASE])} / on () group_left () ({calls} > 0)", f"{{{{{q.PHASE}}}}}"
    )


def _first_chunk() -> tuple[Query, ...]:
    """By either generation of names, of metrics and of the label that tells the provider."""
    new, old = (
        q.growth(metric, q.OF_REQUEST, q.STEP, "bucket")
        for metric in (names.INFERENCE_FIRST_CHUNK, names.OLD_FIRST_CHUNK)
    )
    by = [q.PROVIDER, q.MODEL]
    legend = f"{{{{{q.MODEL}}}}} {{{{{q.PROVIDER}}}}}"
    server = q.growth(_SERVER_FIRST_TOKEN, q.OF_REQUEST, q.STEP, "bucket")
    return (
        Query(q.quantile(0.95, _with_provider(q.either(new, old)), by), legend),
        Query(q.quantile(0.95, _with_provider(server), by), f"{legend} (as others tell it)"),
    )


def _with_provider(inner: str) -> str:
    return f'label_replace({inner}, "{q.PROVIDER}", "$1", "{_OLD_PROVIDER}", "(.+)")'


_WAIT = Row(
    "How long is the wait for a first token?",
    (
        Panel(
            title="How long do callers wait for the first token?",
            shows="From the start of the call to its first token, reasoning included: half, 95 % "
            "and 99 % of the calls in the time range wait at most so long.",
            advice="If only p99 is high, look for retries and cold starts; if p50 is high too, see "
            "below what the wait is made of.",
            kind=Kind.TILE,
            unit="s",
            queries=_quantiles(q.RANGE),
            warn=(FIRST_TOKEN_TARGET_S / 2, FIRST_TOKEN_TARGET_S),
            no_value="no first token",
            width=10,
        ),
        Panel(
            title="How many calls are over the target?",
            shows="Share of the calls whose first token came later than the target that is chosen "
            f"above; {_ALLOWED:.0%} are allowed.",
            advice="Open the panel by call: mostly it is one of them. Fewer retrievals before the "
            "request, a prompt that the provider can cache, a tool that stays started.",
            kind=Kind.TILE,
            unit="percentunit",
            queries=(Query(_over_target(q.RANGE), "over the target"),),
            warn=(_ALLOWED / 2, _ALLOWED),
            no_value="no first token",
            width=5,
        ),
        Panel(
            title="How fast is the allowance used up?",
            shows="Share of calls over the target, by the share that is allowed: at 1 the "
            "allowance is used up just so.",
            advice="High in 5 minutes only: wait. High in the hour as well: somebody should look "
            "now. High in 6 hours only: it is over, and has cost much of the allowance.",
            kind=Kind.TILE,
            unit="none",
            decimals=1,
            queries=tuple(
                Query(f"({_over_target(window)}) / {_ALLOWED:g}", name)
                for name, window in _WINDOWS.items()
            ),
            warn=(1, 2),
            no_value="no first token",
            width=9,
        ),
        Panel(
            title="The wait over time",
            shows="The same quantiles every few minutes. Each dot is one call: a click leads to "
            "its trace in Jaeger.",
            advice="Open the trace of a high dot: its longest phase before the first token is the "
            "one to work on.",
            kind=Kind.LINES,
            unit="s",
            queries=_quantiles(q.STEP, exemplars=True),
        ),
        Panel(
            title="How are the waits distributed?",
            shows="How many calls waited how long, over time. The darker, the more calls.",
            advice="Two bands mean two kinds of calls: cached and not, first try and retried, tool "
            "started and kept.",
            kind=Kind.HEATMAP,
            unit="s",
            queries=(Query(q.grown(_FIRST, q.OF_CALL, q.STEP, "bucket", ["le"]), "{{le}}"),),
        ),
    ),
)

_WHERE = Row(
    "Where does it come from?",
    (
        Panel(
            title="What is the wait made of?",
            shows="Mean seconds of each fixed phase but the exit, per call that had a first token. "
            "Several requests in one call add up; time that no phase covers is not in it.",
            advice="process_startup: keep the tool started, or ask more at once. retrieval, "
            "prompt_build: yours to speed up. retry: see Parallelism. time_to_first_token: a "
            "shorter or cached prompt, another model.",
            kind=Kind.STACK,
            unit="s",
            queries=(_made_of(q.STEP),),
        ),
        Panel(
            title="What is it made of in the whole time range?",
            shows="The same means over the whole time range, one bar for each phase.",
            advice="Begin with the longest bar: nothing else can shorten the wait as much.",
            kind=Kind.BARS,
            unit="s",
            queries=(_made_of(q.RANGE),),
            no_value="no first token",
        ),
        Panel(
            title="Which calls wait?",
            shows="Half, 95 % and 99 % of the calls of each name have their first token by then.",
            advice="One that is much higher than the others has its own reason: open its trace.",
            kind=Kind.LINES,
            unit="s",
            queries=_quantiles_by(q.CALL, legend=f"{{{{{q.CALL}}}}}"),
            width=8,
        ),
        Panel(
            title="Which models and providers wait?",
            shows="Half, 95 % and 99 % of the calls of each model at its provider have their first "
            "token by then.",
            advice="The same model slower at one provider: its queue. One model slower everywhere: "
            "its size, or prompts that are longer than those of others.",
            kind=Kind.LINES,
            unit="s",
            queries=_quantiles_by(
                q.PROVIDER, q.MODEL, legend=f"{{{{{q.MODEL}}}}} {{{{{q.PROVIDER}}}}}"
            ),
            width=8,
        ),
        Panel(
            title="When does a request get its first chunk?",
            shows="95 % of the requests have something by then, be it empty: the metric of the "
            "OpenTelemetry conventions, by its new or its old name, from this package or others.",
            advice="Much lower than the wait for a token: the time goes before the request. "
            "Chunks that come early and are empty make this look better than it is.",
            kind=Kind.LINES,
            unit="s",
            queries=_first_chunk(),
            no_value="no streams",
            width=8,
        ),
    ),
)

BOARD = Board(
    name="first-token",
    title="First-token latency",
    about="What a person waits for the first token of a call, and what the wait is made of.",
    rows=(_WAIT, _WHERE),
)
