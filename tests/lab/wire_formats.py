"""How five APIs write an answer: what opens a stream, its tokens, what closes it, the whole.

A piece is bytes as they go over the wire, named by what it is.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PROMPT_TOKENS = 11
"""Of the prompt, without those of it that are read from, or written to, a cache."""

Piece = tuple[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is to be said; `times_ns` are queue, prefill and generation as the server knows them."""

    model: str
    tokens: int
    cached: int = 0
    cache_written: int = 0
    times_ns: tuple[int, int, int] = (0, 0, 0)

    @property
    def text(self) -> str:
        return "".join(map(word, range(self.tokens)))


def word(n: int) -> str:
    return f"word{n} "


def _event(payload: dict[str, Any], name: str | None = None) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(payload)}\n\n".encode()


class Anthropic:
    """`/v1/messages`: named server-sent events; usage without the cached tokens."""

    content_type = "text/event-stream"

    @staticmethod
    def _usage(answer: Answer, tokens: int) -> dict[str, Any]:
        return {
            "input_tokens": PROMPT_TOKENS,
            "cache_read_input_tokens": answer.cached,
            "cache_creation_input_tokens": answer.cache_written,
            "output_tokens": tokens,
        }

    def _message(self, answer: Answer, text: str | None) -> dict[str, Any]:
        return {
            "id": "msg_lab",
            "type": "message",
            "role": "assistant",
            "model": answer.model,
            "content": [] if text is None else [{"type": "text", "text": text}],
            "stop_reason": None if text is None else "end_turn",
            "stop_sequence": None,
            "usage": self._usage(answer, 1 if text is None else answer.tokens),
        }

    @staticmethod
    def _named(name: str, **rest: Any) -> Piece:
        return name, _event({"type": name, **rest}, name)

    def opening(self, answer: Answer) -> Iterator[Piece]:
        yield self._named("message_start", message=self._message(answer, None))
        block = {"type": "text", "text": ""}
        yield self._named("content_block_start", index=0, content_block=block)
        yield self._named("ping")

    def token(self, answer: Answer, n: int) -> bytes:
        delta = {"type": "text_delta", "text": word(n)}
        return self._named("content_block_delta", index=0, delta=delta)[1]

    def closing(self, answer: Answer) -> Iterator[Piece]:
        yield self._named("content_block_stop", index=0)
        delta = {"stop_reason": "end_turn", "stop_sequence": None}
        usage = self._usage(answer, answer.tokens)
        yield self._named("message_delta", delta=delta, usage=usage)
        yield self._named("message_stop")

    def whole(self, answer: Answer) -> dict[str, Any]:
        return self._message(answer, answer.text)


class Gemini:
    """`generateContent`: server-sent events; the first chunk has no text, each has the usage."""

    content_type = "text/event-stream"

    @staticmethod
    def _response(answer: Answer, text: str, tokens: int) -> dict[str, Any]:
        content = {"role": "model", "parts": [{"text": text}] if text else []}
        return {
            "candidates": [{"content": content, "index": 0}],
            "usageMetadata": {
                "promptTokenCount": PROMPT_TOKENS + answer.cached,
                "candidatesTokenCount": tokens,
                "cachedContentTokenCount": answer.cached,
                "totalTokenCount": PROMPT_TOKENS + answer.cached + tokens,
            },
            "modelVersion": f"{answer.model}-001",
        }

    def opening(self, answer: Answer) -> Iterator[Piece]:
        yield "empty", _event(self._response(answer, "", 0))

    def token(self, answer: Answer, n: int) -> bytes:
        return _event(self._response(answer, word(n), n + 1))

    def closing(self, answer: Answer) -> Iterator[Piece]:
        response = self._response(answer, "", answer.tokens)
        response["candidates"][0]["finishReason"] = "STOP"
        yield "finish", _event(response)

    def whole(self, answer: Answer) -> dict[str, Any]:
        return self._response(answer, answer.text, answer.tokens)


class Ollama:
    """`/api/chat` and `/api/generate`: lines of JSON, the last with the server's own times."""

    content_type = "application/x-ndjson"

    def __init__(self, *, chat: bool) -> None:
        self._chat = chat

    def _response(self, answer: Answer, text: str, *, done: bool) -> dict[str, Any]:
        said: dict[str, Any] = {"model": answer.model, "created_at": "2026-01-01T00:00:00Z"}
        if self._chat:
            said["message"] = {"role": "assistant", "content": text}
        else:
            said["response"] = text
        if not done:
            return {**said, "done": False}
        load, prefill, generation = answer.times_ns
        return {
            **said,
            "done": True,
            "done_reason": "stop",
            "total_duration": load + prefill + generation,
            "load_duration": load,
            "prompt_eval_count": PROMPT_TOKENS,
            "prompt_eval_duration": prefill,
            "eval_count": answer.tokens,
            "eval_duration": generation,
        }

    def opening(self, answer: Answer) -> Iterator[Piece]:
        return iter(())

    def token(self, answer: Answer, n: int) -> bytes:
        return json.dumps(self._response(answer, word(n), done=False)).encode() + b"\n"

    def closing(self, answer: Answer) -> Iterator[Piece]:
        yield "done", json.dumps(self._response(answer, "", done=True)).encode() + b"\n"

    def whole(self, answer: Answer) -> dict[str, Any]:
        return self._response(answer, answer.text, done=True)


class Mistral:
    """`/v1/chat/completions`: OpenAI's chunks; the last has the usage."""

    content_type = "text/event-stream"

    @staticmethod
    def _usage(answer: Answer) -> dict[str, Any]:
        return {
            "prompt_tokens": PROMPT_TOKENS,
            "completion_tokens": answer.tokens,
            "total_tokens": PROMPT_TOKENS + answer.tokens,
        }

    @staticmethod
    def _chunk(answer: Answer, delta: dict[str, Any], **rest: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": rest.pop("finish", None)}
        payload = {"id": "lab", "object": "chat.completion.chunk", "created": 1_700_000_000}
        return _event({**payload, "model": answer.model, "choices": [choice], **rest})

    def opening(self, answer: Answer) -> Iterator[Piece]:
        yield "role", self._chunk(answer, {"role": "assistant", "content": ""})

    def token(self, answer: Answer, n: int) -> bytes:
        return self._chunk(answer, {"content": word(n)})

    def closing(self, answer: Answer) -> Iterator[Piece]:
        last = self._chunk(answer, {"content": ""}, finish="stop", usage=self._usage(answer))
        yield "finish", last
        yield "done", b"data: [DONE]\n\n"

    def whole(self, answer: Answer) -> dict[str, Any]:
        message = {"role": "assistant", "content": answer.text}
        return {
            "id": "lab",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": answer.model,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": self._usage(answer),
        }


class Bedrock:
    """`converse-stream`: AWS's binary event stream; the last event has usage and latency."""

    content_type = "application/vnd.amazon.eventstream"

    @staticmethod
    def _message(kind: str, payload: dict[str, Any]) -> Piece:
        about = {
            ":event-type": kind,
            ":content-type": "application/json",
            ":message-type": "event",
        }
        headers = b"".join(
            bytes([len(name)]) + name.encode() + b"\x07" + len(value).to_bytes(2) + value.encode()
            for name, value in about.items()
        )
        body = json.dumps(payload).encode()
        total = 16 + len(headers) + len(body)
        prelude = total.to_bytes(4) + len(headers).to_bytes(4)
        message = prelude + zlib.crc32(prelude).to_bytes(4) + headers + body
        return kind, message + zlib.crc32(message).to_bytes(4)

    @staticmethod
    def _usage(answer: Answer) -> dict[str, Any]:
        read, written = answer.cached, answer.cache_written
        return {
            "inputTokens": PROMPT_TOKENS,
            "outputTokens": answer.tokens,
            "totalTokens": PROMPT_TOKENS + answer.tokens + read + written,
            "cacheReadInputTokens": read,
            "cacheWriteInputTokens": written,
        }

    @staticmethod
    def _metrics(answer: Answer) -> dict[str, Any]:
        return {"latencyMs": sum(answer.times_ns) // 1_000_000}

    def opening(self, answer: Answer) -> Iterator[Piece]:
        yield self._message("messageStart", {"role": "assistant"})

    def token(self, answer: Answer, n: int) -> bytes:
        delta = {"contentBlockIndex": 0, "delta": {"text": word(n)}}
        return self._message("contentBlockDelta", delta)[1]

    def closing(self, answer: Answer) -> Iterator[Piece]:
        yield self._message("contentBlockStop", {"contentBlockIndex": 0})
        yield self._message("messageStop", {"stopReason": "end_turn"})
        said = {"usage": self._usage(answer), "metrics": self._metrics(answer)}
        yield self._message("metadata", said)

    def whole(self, answer: Answer) -> dict[str, Any]:
        message = {"role": "assistant", "content": [{"text": answer.text}]}
        return {
            "output": {"message": message},
            "stopReason": "end_turn",
            "usage": self._usage(answer),
            "metrics": self._metrics(answer),
        }
