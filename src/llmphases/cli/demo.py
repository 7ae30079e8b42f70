"""`llmphases demo`: the story in small, against the built-in stand-in model."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from llmphases import llm_job, post_processing, prompt_build, traced_llm_call
from llmphases.analysis.split import split
from llmphases.calls import Call
from llmphases.capture import current
from llmphases.cli.exits import OK
from llmphases.cli.terminal import complain, paper_of_stdout, write
from llmphases.clock import SystemClock, sleep
from llmphases.phases import Cost
from llmphases.testing import CollectingObserver, FakeLLM

UNITS = 156
WORKERS = 4
FIXED_S = 0.68
"""A hundredth of the fixed cost that the story's command-line tool had per call."""
PER_UNIT_S = 0.019

_EXAMPLES = """\
examples:
  llmphases demo                          about 8 seconds; needs no key and no server
  llmphases demo --file demo.jsonl        keep the traces, for `llmphases report demo.jsonl`
  OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 llmphases demo
                                          send them to Jaeger (or any OTLP receiver) as well
"""

_STORY = f"""\
{UNITS} pieces of work for a model that takes {FIXED_S:.2f} s before its first token and
{PER_UNIT_S * 1000:.0f} ms per piece, with {WORKERS} workers \
(the real story, a hundred times faster):"""


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to cut the work into calls."""

    name: str
    title: str
    chunks: int


WAYS = (
    _Way("one_call", "one call for everything", 1),
    _Way("twelve_calls", "12 calls, three waves of 4", 12),
    _Way("one_wave", "4 calls, as many as workers", WORKERS),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command can be told."""
    parser.epilog = _EXAMPLES
    parser.add_argument("--json", action="store_true", help="print JSON, as `report --json` does")
    parser.add_argument("--file", metavar="OUT", help="also write the traces to this file")


def run(args: argparse.Namespace) -> int:
    """Do the work in three ways, then show where the time went."""
    if current.is_disabled():
        complain("LLMPHASES_DISABLED is set, so there is nothing to show; unset it")
        return OK
    where = _configured(args.file)
    kept = CollectingObserver()
    current.wired().observers.add(kept)
    walls = [(way, _done(way)) for way in WAYS]
    current.wired().observers.remove(kept)
    if args.json:
        from llmphases.reports.as_json import as_json  # noqa: PLC0415  # only if asked

        write(as_json(split(kept.calls)))
    else:
        _show(kept.calls, walls, where)
    return OK


def _configured(file: str | None) -> tuple[str, ...]:
    """Where the traces go besides; nowhere unless asked."""
    asked = any(name.startswith("OTEL_EXPORTER_OTLP") for name in os.environ)
    if file is None and not asked and "OTEL_TRACES_EXPORTER" not in os.environ:
        return ()
    from llmphases import configure  # noqa: PLC0415  # loads the SDK

    return configure(file=file, service_name="llmphases-demo").traces


def _done(way: _Way) -> float:
    """Do all the work in this way; gives the seconds it took."""
    place_boxes = _named(way.name)
    began_ns = SystemClock.now()
    _progress(f"{way.title} ...")
    with llm_job(f"{way.name}_job", workers=min(way.chunks, WORKERS), progress=False) as job:
        for _ in job.map(place_boxes, [UNITS // way.chunks] * way.chunks):
            pass
    _progress("")
    return (SystemClock.now() - began_ns) / 1e9


def _named(name: str) -> Callable[[int], str]:
    """The function of the story, with a name of its own for each way."""

    @traced_llm_call(name=name, model="stand-in", provider="llmphases")
    def place_boxes(units: int) -> str:
        with prompt_build():
            prompt = "Where do the boxes go? " * units
            sleep(0.01)
        model = FakeLLM(time_to_first_token_s=FIXED_S - 0.01, per_token_s=PER_UNIT_S, tokens=units)
        answer = "".join(_answer(model, prompt))
        with post_processing():
            return answer.strip()

    return place_boxes


def _answer(model: FakeLLM, prompt: str) -> Iterator[str]:
    from llmphases import traced_stream  # noqa: PLC0415  # as a program would, where it streams

    for chunk in traced_stream(model.stream(prompt)):
        for choice in chunk["choices"]:  # type: ignore[attr-defined]  # a dict as JSON gives it
            yield choice["delta"].get("content", "")


def _show(calls: list[Call], walls: list[tuple[_Way, float]], where: tuple[str, ...]) -> None:
    from llmphases.reports.as_text import as_text  # noqa: PLC0415  # not for --json
    from llmphases.reports.wording import duration  # noqa: PLC0415  # not for --json

    lines = [_STORY, "", f"  {'':<30}{'took':>10}{'fixed paid':>14}{'generation':>14}"]
    for way, seconds in walls:
        own = [call for call in calls if call.name == way.name]
        paid = [sum(call.cost_ns(c) for call in own) for c in (Cost.FIXED, Cost.GENERATION)]
        took, fixed, generation = (duration(ns) for ns in (round(seconds * 1e9), *paid))
        lines.append(f"  {way.title:<30}{took:>10}{fixed:>14}{generation:>14}")
    shown = [call for call in calls if call.name == WAYS[1].name]
    lines += ["", _LESSON, "", as_text(split(shown), paper_of_stdout())]
    if where:
        lines += ["", f"The traces went to {' and '.join(where)}."]
    write("\n".join(lines))


_LESSON = """\
Every wave of calls pays the fixed cost again; as many calls as workers pay it in
one wave. What each of the 12 calls paid, and for what:"""


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{text:<40}" if text else "\r" + " " * 40 + "\r")
        sys.stderr.flush()
