"""How OpenAI writes answers besides those of chat: `/v1/responses` and `/v1/completions`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from lab.wire_formats import PROMPT_TOKENS, Answer, Piece, word

_ITEM = {"output_index": 0, "item_id": "msg_lab", "content_index": 0}


class Responses:
    """`/v1/responses`: named server-sent events; the last has the whole response."""

    content_type = "text/event-stream"

    @staticmethod
    def _named(name: str, **rest: Any) -> Piece:
        payload = json.dumps({"type": name, "sequence_number": 0, **rest})
        return name, f"event: {name}\ndata: {payload}\n\n".encode()

    @staticmethod
    def _message(text: str | None) -> dict[str, Any]:
        content = [] if text is None else [_part(text)]
        status = "in_progress" if text is None else "completed"
        about = {"id": "msg_lab", "type": "message", "role": "assistant"}
        return {**about, "status": status, "content": content}

    def _response(self, answer: Answer, *, done: bool) -> dict[str, Any]:
        usage = {
            "input_tokens": PROMPT_TOKENS + answer.cached,
            "input_tokens_details": {"cached_tokens": answer.cached},
            "output_tokens": answer.tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": PROMPT_TOKENS + answer.cached + answer.tokens,
        }
        return {
            "id": "resp_lab",
            "object": "response",
            "created_at": 1_700_000_000,
            "status": "completed" if done else "in_progress",
            "model": answer.model,
            "output": [self._message(answer.text)] if done else [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": usage if done else None,
        }

    def opening(self, answer: Answer) -> Iterator[Piece]:
        started = self._response(answer, done=False)
        yield self._named("response.created", response=started)
        yield self._named("response.in_progress", response=started)
        yield self._named("response.output_item.added", output_index=0, item=self._message(None))
        yield self._named("response.content_part.added", part=_part(""), **_ITEM)

    def token(self, answer: Answer, n: int) -> bytes:
        return self._named("response.output_text.delta", delta=word(n), logprobs=[], **_ITEM)[1]

    def closing(self, answer: Answer) -> Iterator[Piece]:
        yield self._named("response.output_text.done", text=answer.text, logprobs=[], **_ITEM)
        yield self._named("response.content_part.done", part=_part(answer.text), **_ITEM)
        done = self._message(answer.text)
        yield self._named("response.output_item.done", output_index=0, item=done)
        yield self._named("response.completed", response=self._response(answer, done=True))

    def whole(self, answer: Answer) -> dict[str, Any]:
        return self._response(answer, done=True)


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


class Completions:
    """`/v1/completions`: the text alone; a last chunk has the usage and no choices."""

    content_type = "text/event-stream"

    @staticmethod
    def _completion(answer: Answer, *texts: str, **rest: Any) -> dict[str, Any]:
        choices = [{"index": 0, "text": text, "finish_reason": None} for text in texts]
        about = {"id": "cmpl-lab", "object": "text_completion", "created": 1_700_000_000}
        return {**about, "model": answer.model, "choices": choices, **rest}

    @staticmethod
    def _usage(answer: Answer) -> dict[str, Any]:
        counts = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": answer.tokens}
        return {**counts, "total_tokens": sum(counts.values())}

    def opening(self, answer: Answer) -> Iterator[Piece]:
        yield from ()

    def token(self, answer: Answer, n: int) -> bytes:
        return f"data: {json.dumps(self._completion(answer, word(n)))}\n\n".encode()

    def closing(self, answer: Answer) -> Iterator[Piece]:
        last = self._completion(answer, usage=self._usage(answer))
        yield "usage", f"data: {json.dumps(last)}\n\n".encode()
        yield "done", b"data: [DONE]\n\n"

    def whole(self, answer: Answer) -> dict[str, Any]:
        return self._completion(answer, answer.text, usage=self._usage(answer))
