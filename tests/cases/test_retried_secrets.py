"""What an SDK tries again by itself, with keys in all its arguments: none of them is kept."""

from __future__ import annotations

import openai
import pytest
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

from adapters.sdks.wired_sdks import hooked
from capture import wirings
from lab.sse_server import Script
from llmphases import traced_llm_call

SECRET = "sk-test-SECRET"


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    """The SDK tries again at once."""
    for name in ("INITIAL_RETRY_DELAY", "MAX_RETRY_DELAY"):
        monkeypatch.setattr(openai._base_client, name, 0.01)


def sent(sink):
    """Every byte that exporters would send of it."""
    parts = [encode_spans(sink.spans).SerializeToString()]
    parts.append(encode_metrics(sink.reader.get_metrics_data()).SerializeToString())
    parts += [span.to_json().encode() for span in sink.spans]
    return b"\n".join(parts)


@pytest.mark.real
@pytest.mark.parametrize("status", [401, 429, 503])
def test_failed_attempts_of_a_client_keep_nothing_of_what_it_was_given(sse_server, caplog, status):
    """RC-050: in `retry`, its details and its reason as little as anywhere."""
    caplog.set_level("DEBUG", "llmphases")
    script = Script(label=sse_server.fresh_label(), fail_times=2, fail_status=status)

    @traced_llm_call
    def ask(client, *, api_key, headers):
        return client.chat.completions.create(
            model="small",
            messages=[{"role": "user", "content": f"my key is {api_key}"}],
            user=api_key,
            extra_headers=headers,
            extra_query={"key": api_key},
            extra_body=script.extra_body(),
        )

    # Of what is asked it is the SDK, and no test, that raises: 401 is not tried again.
    fails = status == 401
    with (
        wirings.exported() as sink,
        hooked("openai", http=True),
        openai.OpenAI(base_url=sse_server.base_url, api_key=SECRET, max_retries=2) as client,
    ):
        given = {"api_key": SECRET, "headers": {"x-token": SECRET, "x-other": f"Bearer {SECRET}"}}
        if fails:
            with pytest.raises(openai.AuthenticationError):
                ask(client, **given)
        else:
            ask(client, **given)
    served = sse_server.served(script.label)
    assert [SECRET in one.headers["authorization"] for one in served] == [True] * len(served)
    retries = sink.named("retry")
    assert len(retries) == (1 if fails else 2)
    assert {span.attributes["error.type"] for span in retries} == {str(status)}
    assert b"SECRET" not in sent(sink)
    assert "SECRET" not in caplog.text
