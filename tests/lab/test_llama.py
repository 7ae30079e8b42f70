"""The real model answers, and says how long it took."""

from __future__ import annotations

import pytest

from lab.llama import CLOSE, EXACT, FOLDER
from lab.tiny_gguf import TINY, model_file

openai = pytest.importorskip("openai")
pytestmark = [pytest.mark.real, pytest.mark.slow]


def test_the_model_streams_as_many_tokens_as_asked_and_tells_its_times(llama_server):
    with openai.OpenAI(
        base_url=llama_server.base_url, api_key="none", max_retries=0, default_headers=CLOSE
    ) as client:
        chunks = list(
            client.chat.completions.create(
                model="lab",
                messages=[{"role": "user", "content": "hello world"}],
                max_tokens=8,
                stream=True,
                extra_body=EXACT,
            )
        )
    timings = next(c.model_extra["timings"] for c in chunks if "timings" in (c.model_extra or {}))
    assert timings["predicted_n"] == 8
    assert timings["prompt_ms"] > 0


def test_the_same_shape_is_written_once():
    pytest.importorskip("gguf")
    path = model_file(TINY, FOLDER)
    written = path.stat().st_mtime_ns
    assert model_file(TINY, FOLDER) == path
    assert path.stat().st_mtime_ns == written
