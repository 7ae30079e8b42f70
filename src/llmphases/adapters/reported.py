"""What servers report about their own time, read into nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

from llmphases.adapters.contract import ODD, fields_of
from llmphases.calls import Scalar
from llmphases.recorder.reported import ReportedTimes

_SECOND, _MILLISECOND, _NANOSECOND = 1_000_000_000, 1_000_000, 1
_LARGEST = 2**63 - 1  # as for counts: nothing an exporter could not write
_LONGEST_TEXT = 32  # a number that was written as text, never a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    """Where one vendor puts its times: in the chunk itself, in its `root`, or `inner` to that.

    `queue` is all before the prompt is read: waiting in line, or loading the model.
    """

    told_by: str
    """The name that must be there for the report to be this vendor's."""
    root: str = ""
    inner: str = ""
    unit_ns: int = _MILLISECOND
    queue: str | None = None
    prefill: str | None = None
    generation: str | None = None
    others: tuple[str, ...] = ()
    """Names kept raw only: totals, rates, and what no document gives a unit for."""


_REPORTS = (
    _Report(  # llama.cpp server
        root="timings",
        told_by="predicted_ms",
        prefill="prompt_ms",
        generation="predicted_ms",
        others=("cache_n", "prompt_n", "predicted_n", "draft_n", "draft_n_accepted"),
    ),
    _Report(  # Ollama: fields that are 0 are left out, so any one of them tells
        told_by="total_duration",
        unit_ns=_NANOSECOND,
        queue="load_duration",
        prefill="prompt_eval_duration",
        generation="eval_duration",
        others=("total_duration",),
    ),
    _Report(  # vLLM; its time_to_first_token counts from being scheduled, so it is the prefill
        root="metrics",
        told_by="generation_time_ms",
        queue="queue_time_ms",
        prefill="time_to_first_token_ms",
        generation="generation_time_ms",
        others=("mean_itl_ms", "tokens_per_second"),
    ),
    *(
        _Report(  # Groq (the unit by custom only), then Cerebras
            root=root,
            inner=inner,
            told_by="completion_time",
            unit_ns=_SECOND,
            queue="queue_time",
            prefill="prompt_time",
            generation="completion_time",
            others=("total_time",),
        )
        for root, inner in (("usage", ""), ("x_groq", "usage"), ("time_info", ""))
    ),
    _Report(
        root="metadata", inner="metrics", told_by="latencyMs", others=("latencyMs",)
    ),  # Bedrock Converse
    _Report(root="metrics", told_by="latencyMs", others=("latencyMs",)),  # the same, not streamed
    _Report(
        root="amazon-bedrock-invocationMetrics",
        told_by="invocationLatency",
        others=("invocationLatency", "firstByteLatency"),
    ),
    _Report(root="meta_info", told_by="e2e_latency", others=("e2e_latency",)),  # SGLang
    _Report(  # Fireworks: seconds as text by most accounts, milliseconds by one
        root="perf_metrics",
        told_by="server-time-to-first-token",
        others=("server-time-to-first-token", "server-processing-time"),
    ),
)


def reported_of(source: Any) -> ReportedTimes | None:
    """The times in a response or a chunk, an object or a dict; None if it reports none."""
    try:
        said = fields_of(source)
        for report in _REPORTS:
            if (report.root or report.told_by) in said and (times := _by(report, said)):
                return times
    except ODD:
        pass  # an object that is not as documented has said nothing
    return None


def _by(report: _Report, said: dict[str, Any]) -> ReportedTimes | None:
    if report.root:
        said = fields_of(said[report.root])
    if report.inner:
        said = fields_of(said.get(report.inner))
    if said.get(report.told_by) is None:
        return None
    phases = (report.queue, report.prefill, report.generation)
    names = [name for name in (*phases, *report.others) if name is not None]
    raw = {name: value for name in names if (value := _scalar(said.get(name))) is not None}
    if not raw:
        return None
    queue, prefill, generation = (_ns(raw.get(name or ""), report.unit_ns) for name in phases)
    return ReportedTimes(queue_ns=queue, prefill_ns=prefill, generation_ns=generation, raw=raw)


def _scalar(value: Any) -> Scalar | None:
    if type(value) is float:
        return value if isfinite(value) else None
    if type(value) is int:
        return value if abs(value) <= _LARGEST else None
    return value if type(value) is str and len(value) <= _LONGEST_TEXT else None


def _ns(value: Scalar | None, unit_ns: int) -> int | None:
    if not isinstance(value, (int, float)) or not 0 <= value * unit_ns <= _LARGEST:
        return None
    return round(value * unit_ns)
