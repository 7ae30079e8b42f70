"""The metrics of the GenAI conventions: of requests, as far as they are known one by one."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any, Final

from opentelemetry.metrics import Histogram, Meter

from llmphases import conventions as names
from llmphases.calls import Call, Usage
from llmphases.observers import Asked, OpenCall
from llmphases.otel.attributes import seconds
from llmphases.otel.instruments import NO_LABELS, Labels, add_known, histogram, other

_INFERENCE: Final = frozenset({"chat", "generate_content", "text_completion"})
_EMBEDDINGS: Final = "embeddings"
_USED: Final = {
    "input_tokens": names.USAGE_INPUT_TOKENS,
    "output_tokens": names.USAGE_OUTPUT_TOKENS,
    "cache_read_input_tokens": names.USAGE_CACHE_READ_INPUT_TOKENS,
    "cache_write_input_tokens": names.USAGE_CACHE_WRITE_INPUT_TOKENS,
    "reasoning_output_tokens": names.USAGE_REASONING_OUTPUT_TOKENS,
}
"""What is counted of each field of a `Usage`: what its histograms, of calls, do not tell apart."""
_counts_of: Final = attrgetter(*_USED)


class GenAiMetrics:
    """Those of v0.1.0: inference and embeddings, each under its names; no other operations."""

    def __init__(self, meter: Meter) -> None:
        self._inference = _Requests(
            histogram(meter, names.INFERENCE_DURATION),
            histogram(meter, names.INFERENCE_FIRST_CHUNK),
            histogram(meter, names.INFERENCE_INPUT_TOKENS),
            histogram(meter, names.INFERENCE_OUTPUT_TOKENS),
        )
        self._used = [other(meter.create_counter, metric) for metric in _USED.values()]
        self._embeddings = _Requests(
            histogram(meter, names.EMBEDDINGS_DURATION),
            input_tokens=histogram(meter, names.EMBEDDINGS_INPUT_TOKENS),
        )

    def record(self, call: OpenCall, record: Call, context: Any) -> None:
        """One finished call that made requests of its own, or whose usage is known."""
        if record.operation in _INFERENCE:
            labels = self._inference.record(call, record, context)
            if record.usage is not None and record.error_type is None:
                self._count_used(record.usage, labels, context)
        elif record.operation == _EMBEDDINGS:
            self._embeddings.record(call, record, context)

    def _count_used(self, usage: Usage, labels: Labels, context: Any) -> None:
        for used, tokens in zip(self._used, _counts_of(usage), strict=True):
            if tokens is not None:
                used.add(tokens, labels, context)


class OldGenAiMetrics:
    """The names that most instrumentations still use, for operations of any kind."""

    def __init__(self, meter: Meter) -> None:
        tokens = histogram(meter, names.OLD_TOKEN_USAGE)
        self._requests = _Requests(
            histogram(meter, names.OLD_OPERATION_DURATION),
            histogram(meter, names.OLD_FIRST_CHUNK),
            tokens,
            tokens,
            input_labels={names.TOKEN_TYPE: "input"},
            output_labels={names.TOKEN_TYPE: "output"},
        )

    def record(self, call: OpenCall, record: Call, context: Any) -> None:
        """One finished call that made requests of its own, or whose usage is known."""
        self._requests.record(call, record, context)


class _Requests:
    """The instruments of one kind of operation; None where there is none."""

    def __init__(
        self,
        duration: Histogram,
        first_chunk: Histogram | None = None,
        input_tokens: Histogram | None = None,
        output_tokens: Histogram | None = None,
        *,
        input_labels: Labels = NO_LABELS,
        output_labels: Labels = NO_LABELS,
    ) -> None:
        self._duration = duration
        self._first_chunk = first_chunk
        self._input = (input_tokens, input_labels)
        self._output = (output_tokens, output_labels)

    def record(self, call: OpenCall, record: Call, context: Any) -> Labels:
        """Gives the labels that it has recorded by."""
        labels: Labels = {names.OPERATION_NAME: record.operation}
        add_known(
            labels,
            {
                names.PROVIDER_NAME: record.provider,
                names.REQUEST_MODEL: record.request_model,
                names.RESPONSE_MODEL: record.response_model,
            },
        )
        for asked in _asked(call, record):
            self._record_request(asked, labels, context)
        if record.usage is not None and record.error_type is None:
            self._record_usage(record.usage, labels, context)
        return labels

    def _record_request(self, asked: Asked, labels: Labels, context: Any) -> None:
        if self._first_chunk is not None and asked.first_chunk_ns is not None:
            self._first_chunk.record(seconds(asked.first_chunk_ns), labels, context)
        if asked.error_type is not None:  # in a new set: old SDKs keep the one they were given
            labels = {**labels, names.ERROR_TYPE: asked.error_type}
        self._duration.record(seconds(asked.duration_ns), labels, context)

    def _record_usage(self, usage: Usage, labels: Labels, context: Any) -> None:
        counts = (usage.input_tokens, usage.output_tokens)
        for (tokens, more), count in zip((self._input, self._output), counts, strict=True):
            if tokens is not None and count is not None:
                tokens.record(count, {**labels, **more} if more else labels, context)


def _asked(call: OpenCall, record: Call) -> Iterable[Asked]:
    """Its requests; where only its usage tells that it made any, the call stands for them."""
    if call.asked:
        return call.asked
    first_chunk_ns = record.first_chunk_ns if record.stream else None
    return (Asked(record.duration_ns, first_chunk_ns, record.error_type, is_resent=False),)
