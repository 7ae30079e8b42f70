"""OTLP JSON lines written by hand, as a file exporter or a collector writes them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from llmphases import conventions as names
from llmphases.phases import Cost, Phase

SECOND = 1_000_000_000
NOON = 1_780_000_000 * SECOND

_ids = count(1)


def any_value(value: Any) -> dict[str, Any]:
    """A Python value as OTLP JSON has it."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, (list, tuple)):
        return {"arrayValue": {"values": [any_value(v) for v in value]}}
    return {"stringValue": str(value)}


def raw_span(
    name: str,
    start_s: float,
    end_s: float,
    attributes: dict[str, Any],
    *,
    parent: dict[str, Any] | None = None,
    trace: str | None = None,
) -> dict[str, Any]:
    """One span; times in seconds from noon."""
    trace = trace or (parent["traceId"] if parent else f"{next(_ids):032x}")
    return {
        "traceId": trace,
        "spanId": f"{next(_ids):016x}",
        "parentSpanId": parent["spanId"] if parent else "",
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(NOON + round(start_s * SECOND)),
        "endTimeUnixNano": str(NOON + round(end_s * SECOND)),
        "attributes": [{"key": k, "value": any_value(v)} for k, v in attributes.items()],
        "status": {},
    }


def line_of(
    *spans: dict[str, Any], scope: str = "llmphases", process: str = "", run: str = ""
) -> str:
    """One line of a file: an ExportTraceServiceRequest; with the ids that are given."""
    scope_spans = [{"scope": {"name": scope}, "spans": list(spans)}]
    ids = {"service.instance.id": process, names.RUN_ID: run}
    about = [{"key": key, "value": any_value(told)} for key, told in ids.items() if told]
    resource = {"attributes": about} if about else {}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": scope_spans}]}) + "\n"


@dataclass
class WrittenCall:
    """A call whose phases follow each other from its start, and the spans that tell of it."""

    name: str
    phases: list[tuple[Phase, float]]
    at_s: float = 0.0
    unattributed_s: float = 0.0
    unattributed_cost: Cost = Cost.FIXED
    extra: dict[str, Any] = field(default_factory=dict)
    parent: dict[str, Any] | None = None

    def spans(self) -> list[dict[str, Any]]:
        """The call's span first, then one for each phase."""
        total = sum(s for _, s in self.phases) + self.unattributed_s
        end = self.at_s + total
        call = raw_span(self.name, self.at_s, end, self.attributes(), parent=self.parent)
        spans, at = [call], self.at_s
        for phase, seconds in self.phases:
            about = {
                names.PHASE: phase.value,
                names.COST: phase.cost.value,
                names.ORIGIN: "measured",
            }
            spans.append(raw_span(phase.value, at, at + seconds - 1e-6, about, parent=call))
            at += seconds
        return spans

    def attributes(self) -> dict[str, Any]:
        """What the span of the call says."""
        said: dict[str, Any] = {names.CALL_NAME: self.name, names.OPERATION_NAME: "chat"}
        for cost in Cost:
            seconds = sum(s for phase, s in self.phases if phase.cost is cost)
            extra = self.unattributed_s if cost is self.unattributed_cost else 0.0
            said[names.cost_duration(cost)] = float(seconds + extra)
        for phase in dict.fromkeys(phase for phase, _ in self.phases):
            total = float(sum(s for p, s in self.phases if p is phase))
            said[names.phase_duration(phase)] = total
        said[names.UNATTRIBUTED_DURATION] = float(self.unattributed_s)
        return said | self.extra


def box_call(at_s: float = 0.0, stretch: float = 1.0) -> WrittenCall:
    """The call of the story: 68 s fixed cost for 1.9 s of generation."""
    return WrittenCall(
        name="place_boxes",
        at_s=at_s,
        phases=[
            (Phase.PROMPT_BUILD, 0.25),
            (Phase.PROCESS_STARTUP, round(64.75 * stretch, 6)),
            (Phase.TIME_TO_FIRST_TOKEN, 2.5),
            (Phase.GENERATION, 1.9),
            (Phase.POST_PROCESSING, 0.125),
            (Phase.PROCESS_SHUTDOWN, 0.375),
        ],
        unattributed_s=0.125,
        extra={
            names.REQUESTS: 1,
            names.RETRIES: 0,
            names.CALL_TIME_TO_FIRST_TOKEN: 0.25 + round(64.75 * stretch, 6) + 2.5,
            names.OUTPUT_TOKENS: 96,
            names.REQUEST_MODEL: "haiku",
        },
    )
