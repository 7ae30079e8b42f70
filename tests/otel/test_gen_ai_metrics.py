"""The metrics of the GenAI conventions, as the observer records them through the real SDK."""

from __future__ import annotations

from typing import Any

import pytest

from llmphases import conventions as names
from llmphases.calls import Usage
from llmphases.observers import Asked
from otel.metric_lab import Lab
from otel.pieces import open_call


@pytest.fixture
def lab() -> Lab:
    return Lab()


def _of_conventions(lab: Lab) -> dict[str, list[Any]]:
    return {n: points for n, points in lab.points().items() if n.startswith("gen_ai.")}


def test_a_call_without_requests_of_its_own_is_no_inference(lab: Lab):
    lab.call()
    assert _of_conventions(lab) == {}


_ASKED: dict[str, Any] = {
    "requests": 1,
    "provider": "openai",
    "request_model": "m",
    "response_model": "m-1",
    "stream": True,
    "first_chunk_ns": 500_000_000,
    "usage": Usage(input_tokens=10, output_tokens=0),
    "duration_ns": 2_000_000_000,
    "error_type": "ValueError",
}
_INFERENCE = {
    names.OPERATION_NAME: "chat",
    names.PROVIDER_NAME: "openai",
    names.REQUEST_MODEL: "m",
    names.RESPONSE_MODEL: "m-1",
}
_FAILED = {**_INFERENCE, names.ERROR_TYPE: "ValueError"}


def test_inference_has_the_names_of_the_conventions(lab: Lab):
    lab.call(**_ASKED)
    assert lab.values(names.INFERENCE_DURATION) == [(_FAILED, 2.0)]
    assert lab.values(names.INFERENCE_FIRST_CHUNK) == [(_INFERENCE, 0.5)]


def test_tokens_are_told_of_calls_that_did_not_fail(lab: Lab):
    lab.call(**_ASKED)
    assert lab.values(names.INFERENCE_INPUT_TOKENS) == []
    lab.call(**{**_ASKED, "error_type": None})
    assert lab.values(names.INFERENCE_INPUT_TOKENS) == [(_INFERENCE, 10)]
    assert lab.values(names.INFERENCE_OUTPUT_TOKENS) == [(_INFERENCE, 0)]


def test_tokens_used_are_counted_as_far_as_they_are_known(lab: Lab):
    usage = Usage(input_tokens=10, output_tokens=7, cache_read_input_tokens=4)
    lab.call(**{**_ASKED, "usage": usage})
    assert lab.values(names.USAGE_INPUT_TOKENS) == [], "of a failed call nobody knows what is paid"
    for _ in range(2):
        lab.call(**{**_ASKED, "usage": usage, "error_type": None})
    assert lab.values(names.USAGE_INPUT_TOKENS) == [(_INFERENCE, 20)]
    assert lab.values(names.USAGE_OUTPUT_TOKENS) == [(_INFERENCE, 14)]
    assert lab.values(names.USAGE_CACHE_READ_INPUT_TOKENS) == [(_INFERENCE, 8)]
    assert lab.values(names.USAGE_CACHE_WRITE_INPUT_TOKENS) == []
    assert lab.values(names.USAGE_REASONING_OUTPUT_TOKENS) == []


def test_who_serves_the_model_is_left_out_where_nobody_said(lab: Lab):
    lab.call(**{**_ASKED, "provider": None, "error_type": None})
    ((labels, _),) = lab.values(names.INFERENCE_DURATION)
    assert names.PROVIDER_NAME not in labels


def test_each_request_counts_for_itself_and_tools_do_not(lab: Lab):
    asked = (
        Asked(1_000_000_000, 200_000_000, None, is_resent=False),
        Asked(2_000_000_000, 300_000_000, "RateLimitError", is_resent=True),
    )
    known = {**_ASKED, "requests": 2, "duration_ns": 9_000_000_000, "error_type": None}
    lab.call(open_call(asked=asked), **known)
    of_one = {**_INFERENCE, names.ERROR_TYPE: "RateLimitError"}
    assert lab.values(names.INFERENCE_DURATION) == [(_INFERENCE, 1.0), (of_one, 2.0)]
    assert lab.values(names.INFERENCE_FIRST_CHUNK) == [(_INFERENCE, 0.5)]
    (point,) = lab.points()[names.INFERENCE_FIRST_CHUNK.name]
    assert point.count == 2


def test_embeddings_have_metrics_of_their_own(lab: Lab):
    lab.call(**{**_ASKED, "operation": "embeddings", "error_type": None})
    labels = {**_INFERENCE, names.OPERATION_NAME: "embeddings"}
    assert lab.values(names.EMBEDDINGS_DURATION) == [(labels, 2.0)]
    assert lab.values(names.EMBEDDINGS_INPUT_TOKENS) == [(labels, 10)]
    assert len(_of_conventions(lab)) == 2


def test_what_is_neither_inference_nor_embeddings_has_no_metric_of_the_conventions(lab: Lab):
    lab.call(**{**_ASKED, "operation": "invoke_agent"})
    assert _of_conventions(lab) == {}


def test_the_old_names_are_there_on_request_and_then_alone():
    lab = Lab(old_names=True)
    lab.call(**{**_ASKED, "error_type": None})
    assert set(_of_conventions(lab)) == {
        names.OLD_OPERATION_DURATION.name,
        names.OLD_FIRST_CHUNK.name,
        names.OLD_TOKEN_USAGE.name,
    }
    assert lab.values(names.OLD_TOKEN_USAGE) == [
        ({**_INFERENCE, names.TOKEN_TYPE: "input"}, 10),
        ({**_INFERENCE, names.TOKEN_TYPE: "output"}, 0),
    ]
