"""The dashboard *Parallelism*: workers, waves, waiting, retries and caches."""

from __future__ import annotations

from dashboards import queries as q
from dashboards.model import Board, Kind, Panel, Query, Row
from dashboards.targets import FEW_HITS, RETRIES_PER_CALL
from llmphases import conventions as names
from llmphases.phases import Phase

_JOB = f"{{{{{q.JOB_NAME}}}}}"
_NO_JOB = "no jobs"
_WAITS = f'{q.OF_JOB}, {q.PHASE}="{Phase.QUEUE_WAIT}"'


def _gauge(metric: names.Metric) -> str:
    return q.latest(metric, q.OF_JOB, [q.JOB_NAME])


def _idle() -> str:
    """Of each run by itself: the highest numbers of several runs belong to none of them."""
    waves, workers, chunks = (
        f"last_over_time({q.series(metric, q.OF_JOB)}[{q.RANGE}])"
        for metric in (names.JOB_WAVES_GAUGE, names.JOB_WORKERS_GAUGE, names.JOB_CHUNKS_GAUGE)
    )
    return f"max by ({q.JOB_NAME}) (1 - {q.ratio(chunks, f'({waves} * {workers})')})"


def _open_on_average() -> str:
    seconds = q.grown(names.CALL_DURATION, q.OUTERMOST, q.STEP, "sum", [q.CALL])
    return f"{seconds} / ({q.STEP_MS} / 1000)"


def _waits(window: str) -> tuple[Query, ...]:
    buckets = q.growth(names.PHASE_DURATION, _WAITS, window, "bucket")
    legend = f"{_JOB}{{{{{q.CALL}}}}}"
    return tuple(
        Query(q.quantile(share, buckets, [q.JOB_NAME, q.CALL]), f"{legend} {name}")
        for name, share in {"p50": 0.5, "p95": 0.95}.items()
    )


def _calls(window: str) -> str:
    return q.grown(names.CALL_DURATION, q.OF_CALL, window, "count")


def _counted(metric: names.Metric, window: str) -> str:
    return q.or_zero(q.grown(metric, q.OF_CALL, window), _calls(window))


def _by_reason(metric: names.Metric, name: str) -> Query:
    return Query(q.grown(metric, q.OF_CALL, q.STEP, by=[q.REASON]), f"{name}: {{{{{q.REASON}}}}}")


def _hits(window: str, *by: str) -> str:
    hits = q.grown(names.CACHE_REQUESTS, f'{q.OF_CALL}, {q.RESULT}="hit"', window, by=by)
    asked = q.grown(names.CACHE_REQUESTS, q.OF_CALL, window, by=by)
    return q.ratio(q.or_zero(hits, asked), asked)


_WORKERS = Row(
    "Calls at once",
    (
        Panel(
            title="How many waves did a job take?",
            shows="Calls by worker, rounded up: in the last run of each program, and of several "
            "programs in the time range the most. Each wave pays the fixed cost once more.",
            advice="More than 1: cut the work into as many chunks as there are workers.",
            kind=Kind.TILE,
            unit="none",
            decimals=0,
            queries=(Query(_gauge(names.JOB_WAVES_GAUGE), _JOB),),
            warn=(2, 3),
            no_value=_NO_JOB,
            width=6,
        ),
        Panel(
            title="Into how many chunks, for how many workers?",
            shows="Chunks and workers of a job: in the last run of each program, and of several "
            "programs in the time range the most.",
            advice="A few more chunks than workers is the worst: the last wave is nearly empty and "
            "takes as long as the others.",
            kind=Kind.TILE,
            unit="none",
            decimals=0,
            queries=(
                Query(_gauge(names.JOB_CHUNKS_GAUGE), f"{_JOB} chunks"),
                Query(_gauge(names.JOB_WORKERS_GAUGE), f"{_JOB} workers"),
            ),
            no_value=_NO_JOB,
            width=10,
        ),
        Panel(
            title="How many places stayed empty?",
            shows="Share of workers times waves that no chunk took.",
            advice="High: the last wave is nearly empty; choose a number of chunks that the number "
            "of workers divides.",
            kind=Kind.TILE,
            unit="percentunit",
            queries=(Query(_idle(), _JOB),),
            warn=(0.2, 0.4),
            no_value=_NO_JOB,
            width=8,
        ),
        Panel(
            title="Open calls and workers",
            shows="Calls that were open when the program last sent its metrics, and the workers it "
            "has. Programs send about once a minute: shorter jobs are between two looks.",
            advice="Always fewer calls than workers: the work comes too slowly. Calls that stay "
            "open after the end: the program was killed.",
            kind=Kind.STEPS,
            unit="short",
            queries=(
                Query(
                    q.total(q.series(names.CALLS_ACTIVE, q.OF_JOB), [q.JOB_NAME]),
                    f"{_JOB} open calls",
                ),
                Query(
                    f"max by ({q.JOB_NAME}) ({q.series(names.JOB_WORKERS_GAUGE, q.OF_JOB)})",
                    f"{_JOB} workers",
                ),
            ),
        ),
        Panel(
            title="How many calls were open on average?",
            shows="Seconds of the outermost calls that ended, for each second that went by: calls "
            "that are too short for the panel beside are in it too. Calls longer than the few "
            "minutes that a point looks back on come in lumps.",
            advice="Far below the number of workers: they wait for work, or for each other.",
            kind=Kind.LINES,
            unit="short",
            queries=(Query(_open_on_average(), f"{{{{{q.CALL}}}}}"),),
        ),
    ),
)

_WAITING = Row(
    "Waiting for a turn",
    (
        Panel(
            title="How long does work wait for a worker?",
            shows="From being handed to a job, a pool or a limiter until the work starts: half and "
            "95 % wait at most so long. No part of the fixed cost of a call where it is a job's.",
            advice="High: more workers, as far as memory and rate limits allow, or fewer and "
            "larger chunks.",
            kind=Kind.BARS,
            unit="s",
            queries=_waits(q.RANGE),
            no_value="no waits",
        ),
        Panel(
            title="Waits over time",
            shows="The same quantiles every few minutes.",
            advice="Rising all the time: more comes in than is done.",
            kind=Kind.LINES,
            unit="s",
            queries=_waits(q.STEP),
        ),
    ),
)

_TROUBLE = Row(
    "Retries, time-outs, errors",
    (
        Panel(
            title="How many calls are sent again?",
            shows="Requests that were sent again after a failure, by the number of calls, those "
            "inside others included.",
            advice="High with 429 or RateLimitError: fewer workers. High with connection errors: "
            "the network, or a proxy that ends long answers.",
            kind=Kind.TILE,
            unit="none",
            decimals=2,
            queries=(
                Query(
                    q.ratio(_counted(names.RETRIES_TOTAL, q.RANGE), _calls(q.RANGE)),
                    "retries per call",
                ),
            ),
            warn=(RETRIES_PER_CALL / 2, RETRIES_PER_CALL),
            width=8,
        ),
        Panel(
            title="Time-outs",
            shows="Requests, child processes and calls that a time-out ended.",
            advice="A time-out below p99 of the calls throws away what was paid: set it higher, or "
            "ask for less at once.",
            kind=Kind.TILE,
            unit="short",
            decimals=0,
            queries=(Query(_counted(names.TIMEOUTS_TOTAL, q.RANGE), "time-outs"),),
            warn=(1, 10),
            width=8,
        ),
        Panel(
            title="How much time did failed attempts take?",
            shows="Seconds of the phase `retry`: failed attempts, and the pauses after them.",
            advice="High with few retries: failures come late. A shorter time-out to connect finds "
            "them earlier.",
            kind=Kind.TILE,
            unit="s",
            queries=(
                Query(
                    q.or_zero(
                        q.grown(
                            names.PHASE_DURATION,
                            f'{q.OF_CALL}, {q.PHASE}="{Phase.RETRY}"',
                            q.RANGE,
                            "sum",
                        ),
                        _calls(q.RANGE),
                    ),
                    "retry",
                ),
            ),
            width=8,
        ),
        Panel(
            title="Which errors ended calls?",
            shows="Calls that an exception ended, by their name and its class. One that leaves a "
            "call inside another, and the other too, has ended both.",
            advice="The trace of such a call has the error on the span of the phase it came in.",
            kind=Kind.BARS,
            unit="short",
            decimals=0,
            queries=(
                Query(
                    q.grown(
                        names.CALL_DURATION,
                        f'{q.OF_CALL}, {q.ERROR}!=""',
                        q.RANGE,
                        "count",
                        [q.CALL, q.ERROR],
                    ),
                    f"{{{{{q.CALL}}}}} {{{{{q.ERROR}}}}}",
                ),
            ),
            no_value="no errors",
            width=8,
        ),
        Panel(
            title="Why are requests sent again, or given up?",
            shows="Retries and time-outs by reason, as they come.",
            advice="In bursts: many calls hit the same limit at once; start them a little apart.",
            kind=Kind.STACK,
            unit="short",
            decimals=0,
            queries=(
                _by_reason(names.RETRIES_TOTAL, "retry"),
                _by_reason(names.TIMEOUTS_TOTAL, "time-out"),
            ),
            no_value="none",
            width=8,
        ),
        Panel(
            title="Do caches help?",
            shows="Share of look-ups that found something: as `call.cache()` said, or of the "
            "provider's prompt cache.",
            advice=f"Low (under {FEW_HITS:.0%}): look at what differs between prompts that should "
            "be the same: dates, ids, the order of examples. What changes belongs to the end.",
            kind=Kind.LINES,
            unit="percentunit",
            queries=(
                Query(_hits(q.STEP), "all"),
                Query(_hits(q.STEP, q.CALL), f"{{{{{q.CALL}}}}}"),
            ),
            no_value="no caches",
            width=8,
        ),
    ),
)

BOARD = Board(
    name="parallelism",
    title="Parallelism",
    about="How many calls run at once, what they wait for, and what is sent again.",
    rows=(_WORKERS, _WAITING, _TROUBLE),
)
