"""The splitter beside the real opentelemetry-instrumentation-openai-v2 (`make test-peers`)."""

from __future__ import annotations

import importlib.util

import pytest

from otel.foreign_programs import run


def _is_installed() -> bool:
    try:
        return importlib.util.find_spec("opentelemetry.instrumentation.openai_v2") is not None
    except ModuleNotFoundError:  # not even the package around it
        return False


pytestmark = [
    pytest.mark.slow,
    pytest.mark.real,
    pytest.mark.skipif(
        not _is_installed(),
        reason="it is not installed, and wants an older util-genai: make test-peers",
    ),
]


def test_it_records_no_time_to_first_token_and_gets_none():
    told = run(
        """
        use("openai_v2")
        split()
        with SseServer() as server, openai_client(server) as client:
            list(stream(client, first_token_s=0.2, tokens=4, gap_s=0.02))
            whole(client, first_token_s=0.2)
            said["true_s"] = [
                ((one.frames[-1].at_ns if one.frames else one.headers_ns) - one.received_ns) / 1e9
                for one in server.served()
            ]
        """
    )
    assert len(told.theirs) == 2
    for span, true_s in zip(told.theirs, told.said["true_s"], strict=True):
        (phase,) = told.under(span)
        assert phase["name"] == "inference"
        assert phase["attributes"]["llmphases.origin"] == "measured"
        assert "llmphases.told_by" not in phase["attributes"]
        assert "llmphases.reported.trusted" not in phase["attributes"]
        assert (phase["end_ns"] - phase["start_ns"]) / 1e9 >= true_s - 1e-5
    assert told.metrics["llmphases/llmphases.call.duration"] == 2
