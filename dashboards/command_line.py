"""The dashboard *Command-line tools*: child processes, by executable."""

from __future__ import annotations

from dashboards import queries as q
from dashboards.model import Board, Kind, Panel, Query, Row
from dashboards.targets import CPU_IDLE_SHARE
from llmphases import conventions as names
from llmphases.phases import Phase

_TOOL = f"{{{{{q.EXECUTABLE}}}}}"
_NONE = "no tools"
_QUANTILES = {"p50": 0.5, "p95": 0.95}
_GIB = 2.0**30


def _quantiles(metric: names.Metric, window: str) -> tuple[Query, ...]:
    buckets = q.growth(metric, q.OF_JOB, window, "bucket")
    return tuple(
        Query(q.quantile(share, buckets, [q.EXECUTABLE]), f"{_TOOL} {name}")
        for name, share in _QUANTILES.items()
    )


def _sum(metric: names.Metric, window: str, part: str = "sum") -> str:
    return q.grown(metric, q.OF_JOB, window, part, [q.EXECUTABLE])


def _cpu_share(window: str) -> str:
    cpu = q.grown(names.PROCESS_CPU, q.OF_JOB, window, by=[q.EXECUTABLE])
    return q.ratio(cpu, _sum(names.PROCESS_WALL, window))


def _startup_share(window: str) -> str:
    startup = _sum(names.PROCESS_STARTUP, window)
    return q.ratio(startup, _sum(names.PROCESS_WALL, window))


def _failed(window: str) -> str:
    failed = q.grown(names.PROCESS_WALL, f'{q.OF_JOB}, {q.EXIT_CODE}!~"0|"', window, "count")
    ended = q.grown(names.PROCESS_WALL, q.OF_JOB, window, "count")
    return q.ratio(q.or_zero(failed, ended), ended)


def _exit_phase() -> tuple[Query, ...]:
    buckets = q.growth(
        names.PHASE_DURATION,
        f'{q.OF_JOB}, {q.PHASE}="{Phase.PROCESS_SHUTDOWN}"',
        q.STEP,
        "bucket",
    )
    return (Query(q.quantile(0.95, buckets, [q.CALL]), f"{{{{{q.CALL}}}}}"),)


_START = Row(
    "Starting and ending",
    (
        Panel(
            title="How long does a tool take to start?",
            shows="From its spawn until it is ready (its first request, event or output): half and "
            "95 % of the processes are ready by then.",
            advice="High: keep one process started and ask it several things, or cut what it loads "
            "(plugins, servers it connects to, large working directories).",
            kind=Kind.TILE,
            unit="s",
            queries=_quantiles(names.PROCESS_STARTUP, q.RANGE),
            warn=(2, 5),
            no_value=_NONE,
            width=8,
        ),
        Panel(
            title="How much of a process's life is its start?",
            shows="Time to start, by the time from spawn to exit.",
            advice="High: each process does too little. Ask for more at once.",
            kind=Kind.TILE,
            unit="percentunit",
            queries=(Query(_startup_share(q.RANGE), _TOOL),),
            warn=(0.1, 0.3),
            no_value=_NONE,
            width=5,
        ),
        Panel(
            title="How many processes failed?",
            shows="Share of the processes with another exit code than 0.",
            advice="See the codes below; a negative one is the signal that ended it.",
            kind=Kind.TILE,
            unit="percentunit",
            queries=(Query(_failed(q.RANGE), "failed"),),
            warn=(0.01, 0.1),
            no_value=_NONE,
            width=4,
        ),
        Panel(
            title="Processes that ended",
            shows="How many, by executable.",
            advice="Many more than calls: the tool starts itself again, or is retried.",
            kind=Kind.TILE,
            unit="short",
            decimals=0,
            queries=(Query(_sum(names.PROCESS_WALL, q.RANGE, "count"), _TOOL),),
            no_value=_NONE,
            width=7,
        ),
        Panel(
            title="Start-up over time",
            shows="The same quantiles every few minutes.",
            advice="Higher when many start at once: they compete for disk and CPU; start them a "
            "little apart.",
            kind=Kind.LINES,
            unit="s",
            queries=_quantiles(names.PROCESS_STARTUP, q.STEP),
            width=8,
        ),
        Panel(
            title="How long does the exit take?",
            shows="From the last output to the exit, 95 % of the calls of each name.",
            advice="High: the tool saves a session or sends its own telemetry; most have a switch "
            "for that.",
            kind=Kind.LINES,
            unit="s",
            queries=_exit_phase(),
            width=8,
        ),
        Panel(
            title="How did they end?",
            shows="Processes by executable and exit code.",
            advice="-9 without a time-out of yours: the machine ran out of memory. 124, -15: "
            "somebody's time-out. 1 and 2: see what the tool says on stderr.",
            kind=Kind.BARS,
            unit="short",
            decimals=0,
            queries=(
                Query(
                    q.grown(
                        names.PROCESS_WALL,
                        q.OF_JOB,
                        q.RANGE,
                        "count",
                        [q.EXECUTABLE, q.EXIT_CODE],
                    ),
                    f"{_TOOL} exit {{{{{q.EXIT_CODE}}}}}",
                ),
            ),
            no_value=_NONE,
            width=8,
        ),
    ),
)

_USE = Row(
    "What they take from the machine",
    (
        Panel(
            title="How much of its time does a tool compute?",
            shows="CPU time of a process and its descendants, by the time from spawn to exit. "
            "Over 1: on several cores.",
            advice=f"Low (under {CPU_IDLE_SHARE:.0%}): it waits for the model, so more at once "
            "cost nothing here. Near 1: more of them than there are cores slow each other down.",
            kind=Kind.TILE,
            unit="percentunit",
            queries=(Query(_cpu_share(q.RANGE), _TOOL),),
            warn=(CPU_IDLE_SHARE, 0.8),
            no_value=_NONE,
            width=12,
        ),
        Panel(
            title="How much memory does a process take?",
            shows="Peak memory of a process and its descendants: half and 95 % take at most so "
            "much. A lower bound, since it is looked at now and then.",
            advice="Workers times p95 have to fit into this machine, or some will be killed.",
            kind=Kind.TILE,
            unit="bytes",
            queries=_quantiles(names.PROCESS_MEMORY, q.RANGE),
            warn=(_GIB, 4 * _GIB),
            no_value=_NONE,
            width=12,
        ),
        Panel(
            title="Memory over time",
            shows="Peak memory, the same quantiles every few minutes.",
            advice="Growing with the size of what is asked: cut the prompt, or lower the number of "
            "workers.",
            kind=Kind.LINES,
            unit="bytes",
            queries=_quantiles(names.PROCESS_MEMORY, q.STEP),
        ),
        Panel(
            title="Computing over time",
            shows="CPU time by time from spawn to exit, every few minutes.",
            advice="A jump: another version of the tool, or work that it does itself (indexing, "
            "compressing its history).",
            kind=Kind.LINES,
            unit="percentunit",
            queries=(Query(_cpu_share(q.STEP), _TOOL),),
        ),
    ),
)

BOARD = Board(
    name="command-line",
    title="Command-line tools",
    about="Tools that are started for a call: how long they take to start and to exit, how they "
    "end, and what they take from the machine.",
    rows=(_START, _USE),
)
