"""The dashboard *Fixed cost versus generation*: what is paid per call, and what per token."""

from __future__ import annotations

from dashboards import queries as q
from dashboards.colours import NO_PHASE
from dashboards.model import Board, Kind, Panel, Query, Row
from dashboards.prometheus_names import label_name
from dashboards.targets import FIXED_SHARE_TARGET
from llmphases import conventions as names
from llmphases.phases import Cost

_PHASE = f"{{{{{q.PHASE}}}}}"
_OF_A_CALL = f'{q.OF_CALL}, {q.CALL}!=""'
"""Not the waits in a job's queue, which belong to no call."""
_OF_A_MODEL = f'{q.OF_CALL}, {q.MODEL}!=""'


def _paid(cost: Cost, window: str, *by: str, matchers: str = q.OUTERMOST) -> str:
    return q.grown(names.CALL_PAID, f'{matchers}, {q.COST}="{cost}"', window, by=by)


def _per_second(window: str, *by: str, matchers: str = q.OUTERMOST) -> str:
    fixed, generation = (
        _paid(cost, window, *by, matchers=matchers) for cost in (Cost.FIXED, Cost.GENERATION)
    )
    return q.ratio(fixed, generation)


def _share(window: str, *by: str) -> str:
    """Of the sums, as the report has it: long calls count for more."""
    both = q.grown(names.CALL_PAID, q.OUTERMOST, window, by=by)
    return q.ratio(_paid(Cost.FIXED, window, *by), both)


def _mostly_fixed(window: str) -> str:
    half = q.grown(names.CALL_FIXED_SHARE, f"{q.OUTERMOST}, {q.boundary(0.5)}", window, "bucket")
    return f"1 - {q.ratio(half, q.grown(names.CALL_FIXED_SHARE, q.OUTERMOST, window, 'count'))}"


def _per_call(window: str, *by: str) -> str:
    calls = q.grown(names.CALL_FIXED_SHARE, q.OUTERMOST, window, "count", by)
    return q.ratio(_paid(Cost.FIXED, window, *by), calls)


def _by_phase(window: str) -> tuple[Query, ...]:
    seconds = q.grown(names.PHASE_DURATION, _OF_A_CALL, window, "sum")
    duration = q.grown(names.CALL_DURATION, q.OUTERMOST, window, "sum")
    phases = q.grown(names.PHASE_DURATION, _OF_A_CALL, window, "sum", [q.PHASE])
    left = f"clamp_min({duration} - ({seconds} or 0 * {duration}), 0)"
    return (
        Query(phases, _PHASE),
        Query(f"{left} unless ({_is_part_of_nested(window)})", NO_PHASE),
    )


def _is_part_of_nested(window: str) -> str:
    """An answer where some calls are inside others, and not all of them are chosen.

    Phases are told by the inner calls and durations taken from the outer ones: what is chosen of
    the one need not belong to the other.
    """
    nested, every, chosen = (
        q.grown(names.CALL_DURATION, matchers, window, "count")
        for matchers in (q.NESTED, q.OF_JOB, q.OF_CALL)
    )
    return f"{nested} > 0 and {every} > {chosen}"


def _not_told_apart(window: str) -> str:
    """Share of the calls without a share."""
    split = q.grown(names.CALL_FIXED_SHARE, q.OUTERMOST, window, "count")
    calls = q.grown(names.CALL_DURATION, q.OUTERMOST, window, "count")
    return f"1 - {q.ratio(q.or_zero(split, calls), calls)}"


def _tokens(part: str) -> str:
    """Output tokens by model, under either name; `sum` of them, or `count` of the calls."""
    new = q.growth(names.INFERENCE_OUTPUT_TOKENS, q.OF_REQUEST, q.RANGE, part)
    old = q.growth(
        names.OLD_TOKEN_USAGE,
        f'{q.OF_REQUEST}, {label_name(names.TOKEN_TYPE)}="output"',
        q.RANGE,
        part,
    )
    return q.total(q.either(new, old), [q.MODEL])


def _where_all_are_split(inner: str) -> str:
    """Only for models whose calls are all told apart: tokens of others would be counted in."""
    split = q.grown(names.CALL_FIXED_SHARE, _OF_A_MODEL, q.RANGE, "count", [q.MODEL])
    return f"({inner}) and ({_tokens('count')} <= 1.05 * {split})"


def _break_even() -> str:
    tokens_per_call = q.ratio(_tokens("sum"), _tokens("count"))
    per_second = _per_second(q.RANGE, q.MODEL, matchers=_OF_A_MODEL)
    return _where_all_are_split(f"({tokens_per_call}) * ({per_second})")


def _per_thousand_tokens() -> str:
    calls = q.grown(names.CALL_FIXED_SHARE, _OF_A_MODEL, q.RANGE, "count", [q.MODEL])
    per_call = q.ratio(_paid(Cost.FIXED, q.RANGE, q.MODEL, matchers=_OF_A_MODEL), calls)
    tokens_per_call = q.ratio(_tokens("sum"), _tokens("count"))
    return _where_all_are_split(f"1000 * ({per_call}) / ({tokens_per_call})")


_TILES = Row(
    "How much is paid before the answer?",
    (
        Panel(
            title="How much of the time is fixed cost?",
            shows="Fixed cost, by fixed cost and generation together: the sums of the outermost "
            "calls where the two are told apart, as `llmphases report` has it.",
            advice="High: ask for more in each call, in as many calls as there are workers, and "
            "keep the tool started between calls.",
            kind=Kind.TILE,
            unit="percentunit",
            queries=(Query(_share(q.RANGE), "fixed"),),
            warn=(0.5, FIXED_SHARE_TARGET),
            no_value="no call is split",
            width=4,
        ),
        Panel(
            title="Seconds of fixed cost for each second of generation",
            shows="The same sums, one by the other.",
            advice="Over 1, a call costs more than its answer. At 35, as in the story of the "
            "readme, cutting the work into more calls makes it slower.",
            kind=Kind.TILE,
            unit="none",
            decimals=1,
            queries=(Query(_per_second(q.RANGE), "fixed : generation"),),
            warn=(1, FIXED_SHARE_TARGET / (1 - FIXED_SHARE_TARGET)),
            no_value="no call is split",
            width=5,
        ),
        Panel(
            title="In how many calls is more fixed than generated?",
            shows="Share of the calls whose fixed cost is longer than their generation.",
            advice="High with a low share of time: many short calls; put some of them together.",
            kind=Kind.TILE,
            unit="percentunit",
            queries=(Query(_mostly_fixed(q.RANGE), "mostly fixed"),),
            warn=(0.5, 0.9),
            no_value="no call is split",
            width=5,
        ),
        Panel(
            title="Fixed cost paid in all",
            shows="Fixed cost of all calls that are told apart, added up; calls that ran at once "
            "count each.",
            advice="What could be saved at most. Little of it: leave everything as it is.",
            kind=Kind.TILE,
            unit="s",
            queries=(Query(_paid(Cost.FIXED, q.RANGE), "fixed"),),
            no_value="no call is split",
            width=4,
        ),
        Panel(
            title="Fixed cost of one call",
            shows="The mean over the calls that are told apart.",
            advice="What one more call costs, and one less saves.",
            kind=Kind.TILE,
            unit="s",
            queries=(Query(_per_call(q.RANGE), "per call"),),
            no_value="no call is split",
            width=3,
        ),
        Panel(
            title="How many calls cannot be told apart?",
            shows="Share of the calls whose first token nobody saw; they are in none of the "
            "numbers beside this one.",
            advice="High: stream the answers, or switch the stream format of the tool on.",
            kind=Kind.TILE,
            unit="percentunit",
            queries=(Query(_not_told_apart(q.RANGE), "not told apart"),),
            warn=(0.2, 0.5),
            width=3,
        ),
    ),
)

_PHASES = Row(
    "Which phase is it?",
    (
        Panel(
            title="Which part of the time goes where?",
            shows="All time of the calls, by phase, as parts of the whole. What no phase covers "
            "is `no phase`, unless a part of calls inside calls is chosen; waits in a job's queue "
            "are on the dashboard Parallelism.",
            advice="generation is the answer itself. Whatever else is wide is what to work on; a "
            "wide `no phase` wants more blocks (`retrieval()`, `prompt_build()` ...).",
            kind=Kind.SHARES,
            unit="s",
            queries=_by_phase(q.STEP),
        ),
        Panel(
            title="How many seconds went into each phase?",
            shows="The sums of the whole time range; calls that ran at once count each.",
            advice="Begin with the longest bar that is not generation.",
            kind=Kind.BARS,
            unit="s",
            queries=_by_phase(q.RANGE),
        ),
        Panel(
            title="Which calls are mostly fixed cost?",
            shows="Fixed share of each name of calls over time, from the sums.",
            advice="One that is always high asks for too little in each call.",
            kind=Kind.LINES,
            unit="percentunit",
            queries=(Query(_share(q.STEP, q.CALL), f"{{{{{q.CALL}}}}}"),),
        ),
        Panel(
            title="What does one call of each name cost before its answer?",
            shows="Mean fixed cost of a call, over time.",
            advice="A step upwards: a longer prompt, a slower tool, an emptier cache. The trace of "
            "a call before the step beside one after it shows which.",
            kind=Kind.LINES,
            unit="s",
            queries=(Query(_per_call(q.STEP, q.CALL), f"{{{{{q.CALL}}}}}"),),
        ),
    ),
)

_TOKENS = Row(
    "How long would an answer have to be?",
    (
        Panel(
            title="Tokens that an answer needs to cost as much as its call",
            shows="Output tokens at which generation takes as long as the fixed cost of a call: "
            "mean tokens of a call, times fixed cost, by generation. Only for models whose calls "
            "are all told apart.",
            advice="Shorter answers pay mostly for the call: put several questions into one, until "
            "the answers are about so long.",
            kind=Kind.BARS,
            unit="short",
            queries=(Query(_break_even(), f"{{{{{q.MODEL}}}}}"),),
            no_value="no tokens",
        ),
        Panel(
            title="Fixed cost of a thousand tokens",
            shows="Fixed cost of a call, by the tokens of its answer. Only for models whose calls "
            "are all told apart.",
            advice="Compare models by this, and not by their speed: a fast one with a slow start "
            "loses where answers are short.",
            kind=Kind.BARS,
            unit="s",
            queries=(Query(_per_thousand_tokens(), f"{{{{{q.MODEL}}}}}"),),
            no_value="no tokens",
        ),
    ),
)

BOARD = Board(
    name="fixed-cost",
    title="Fixed cost versus generation",
    about="What is paid for each call, whatever the answer, beside what is paid for its tokens.",
    rows=(_TILES, _PHASES, _TOKENS),
)
