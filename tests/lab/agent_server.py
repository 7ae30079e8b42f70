"""A stand-in for the servers that agent tools ask: several requests in a row, each as stated.

The name of the model that is asked tells the script: `server.asks(Turn(...), Turn(...))` gives one
that answers its first request so, its second so, and all others as the last. What it says goes out
in the format of the path that is asked.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lab.loopback import LoopbackServer, QuietHandler
from lab.wire_formats import PROMPT_TOKENS, Answer, Anthropic, Gemini, Mistral, Piece, word
from lab.wire_server import Served


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """How one request is to be answered. Delays are seconds, each after the one before it."""

    first_token_s: float = 0.0
    """From the request; headers and what opens a stream come at once."""
    gap_s: float = 0.0
    """Between two tokens; kept from the first one on, so that it does not drift."""
    tokens: int = 4
    cached: int = 0
    status: int = 200
    """Any other is an error, without an answer."""
    retry_after_s: int | None = None
    """What the error says of when to ask again."""
    tool: tuple[str, dict[str, Any]] | None = None
    """A tool that is called, with its arguments, in place of text."""

    @property
    def generation_s(self) -> float:
        """From the first token to the last."""
        return self.gap_s * (self.tokens - 1)


def _pieces_of(text: str, count: int) -> list[str]:
    """The text in so many pieces, none of them empty."""
    at = [len(text) * n // count for n in range(count + 1)]
    return [text[a:b] for a, b in itertools.pairwise(at)]


class Messages(Anthropic):
    """Anthropic's Messages, where the answer may be the use of a tool."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    def opening(self, answer: Answer) -> Iterator[Piece]:
        if self._turn.tool is None:
            yield from super().opening(answer)
        else:
            yield self._named("message_start", message=self._message(answer, None))

    def token(self, answer: Answer, n: int) -> bytes:
        """The start of a tool's block names the tool: it goes out with the first token."""
        if self._turn.tool is None:
            return super().token(answer, n)
        name, arguments = self._turn.tool
        block = {"type": "tool_use", "id": "toolu_lab", "name": name, "input": {}}
        _, start = self._named("content_block_start", index=0, content_block=block)
        text = _pieces_of(json.dumps(arguments), answer.tokens)[n]
        delta = {"type": "input_json_delta", "partial_json": text}
        _, data = self._named("content_block_delta", index=0, delta=delta)
        return data if n else start + data

    def closing(self, answer: Answer) -> Iterator[Piece]:
        if self._turn.tool is None:
            yield from super().closing(answer)
            return
        yield self._named("content_block_stop", index=0)
        delta = {"stop_reason": "tool_use", "stop_sequence": None}
        yield self._named("message_delta", delta=delta, usage=self._usage(answer, answer.tokens))
        yield self._named("message_stop")


class Responses:
    """OpenAI's `/v1/responses`: named server-sent events; the last has usage and all that was said.

    Input tokens include those that were cached.
    """

    content_type = "text/event-stream"

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    @staticmethod
    def _named(name: str, **rest: Any) -> Piece:
        return name, f"event: {name}\ndata: {json.dumps({'type': name, **rest})}\n\n".encode()

    def _item(self, answer: Answer, *, is_whole: bool) -> dict[str, Any]:
        status = "completed" if is_whole else "in_progress"
        if self._turn.tool is not None:
            name, arguments = self._turn.tool
            text = json.dumps(arguments) if is_whole else ""
            call = {"type": "function_call", "id": "fc_lab", "call_id": "call_lab"}
            return {**call, "name": name, "arguments": text, "status": status}
        part = {"type": "output_text", "text": answer.text, "annotations": []}
        content = [part] if is_whole else []
        about = {"type": "message", "id": "msg_lab", "role": "assistant", "status": status}
        return {**about, "content": content}

    def _response(self, answer: Answer, *, is_whole: bool) -> dict[str, Any]:
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
            "model": answer.model,
            "status": "completed" if is_whole else "in_progress",
            "output": [self._item(answer, is_whole=True)] if is_whole else [],
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "usage": usage if is_whole else None,
        }

    def opening(self, answer: Answer) -> Iterator[Piece]:
        response = self._response(answer, is_whole=False)
        yield self._named("response.created", sequence_number=0, response=response)
        item = self._item(answer, is_whole=False)
        yield self._named(
            "response.output_item.added", sequence_number=1, output_index=0, item=item
        )

    def token(self, answer: Answer, n: int) -> bytes:
        place = {"output_index": 0, "sequence_number": 2 + n}
        if self._turn.tool is not None:
            text = _pieces_of(json.dumps(self._turn.tool[1]), answer.tokens)[n]
            kind = "response.function_call_arguments.delta"
            return self._named(kind, item_id="fc_lab", delta=text, **place)[1]
        about = {"item_id": "msg_lab", "content_index": 0, "logprobs": []}
        return self._named("response.output_text.delta", delta=word(n), **about, **place)[1]

    def closing(self, answer: Answer) -> Iterator[Piece]:
        number = 2 + answer.tokens
        item = self._item(answer, is_whole=True)
        yield self._named(
            "response.output_item.done", sequence_number=number, output_index=0, item=item
        )
        response = self._response(answer, is_whole=True)
        yield self._named("response.completed", sequence_number=number + 1, response=response)


_ROUTES = (
    # What asks a model, how it is answered, and where the model is named if not in the body.
    (re.compile(r"/messages(\?|$)"), Messages),
    (re.compile(r"/responses(\?|$)"), Responses),
    (re.compile(r"/chat/completions(\?|$)"), lambda turn: Mistral()),
    (re.compile(r"/models/([^:/]+):streamGenerateContent"), lambda turn: Gemini()),
)


class _Handler(QuietHandler):
    def do_HEAD(self) -> None:
        self.answer(200, b"", "text/plain")

    def do_GET(self) -> None:
        self.answer(404, b"{}", "application/json")

    def do_POST(self) -> None:
        received_ns = time.monotonic_ns()
        owner: AgentServer = self.server.owner
        body = json.loads(self.body() or b"{}")
        for pattern, wire_for in _ROUTES:
            if found := pattern.search(self.path):
                model = body.get("model") or found[1]
                served = Served(self.path, body, received_ns)
                turn = owner.note(model, served)
                if turn.status == 200:
                    self._stream(served, wire_for(turn), model, turn)
                else:
                    self._refuse(served, turn)
                return
        self.answer(404, b"{}", "application/json")

    def _refuse(self, served: Served, turn: Turn) -> None:
        kind = "overloaded_error" if turn.status == 529 else "invalid_request_error"
        error = {"type": kind, "message": "as the script says"}
        body = json.dumps({"type": "error", "error": error}).encode()
        more = {} if turn.retry_after_s is None else {"retry_after": str(turn.retry_after_s)}
        served.pieces.append(("error", time.monotonic_ns()))
        self.answer(turn.status, body, "application/json", **more)

    def _stream(self, served: Served, wire: Any, model: str, turn: Turn) -> None:
        self.send_response(200)
        self.send_header("content-type", wire.content_type)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        answer = Answer(model=model, tokens=turn.tokens, cached=turn.cached)
        for kind, data in wire.opening(answer):
            self._write(served, kind, data)
        for n in range(turn.tokens):
            at_ns = served.received_ns + round((turn.first_token_s + n * turn.gap_s) * 1e9)
            self.server.owner.wait_until(at_ns)
            self._write(served, "token", wire.token(answer, n))
        for kind, data in wire.closing(answer):
            self._write(served, kind, data)
        self.wfile.write(b"0\r\n\r\n")

    def _write(self, served: Served, kind: str, data: bytes) -> None:
        served.pieces.append((kind, time.monotonic_ns()))
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


class AgentServer(LoopbackServer):
    """The server; `url` is the base of every one of these APIs."""

    handler = _Handler

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._turns: dict[str, tuple[Turn, ...]] = {}
        self._served: dict[str, list[Served]] = {}

    def asks(self, *turns: Turn) -> str:
        """A model that answers so, of a name that nobody else has."""
        with self._lock:
            model = f"lab-{next(self._numbers)}"
            self._turns[model] = turns or (Turn(),)
        return model

    def note(self, model: str, served: Served) -> Turn:
        """Keep a request; how it is to be answered."""
        with self._lock:
            kept = self._served.setdefault(model, [])
            kept.append(served)
            turns = self._turns.get(model, (Turn(),))
            return turns[min(len(kept), len(turns)) - 1]

    def served(self, model: str) -> list[Served]:
        """What this model was asked, in order of arrival."""
        with self._lock:
            return list(self._served.get(model, ()))

    def others(self) -> set[str]:
        """Models that were asked, and that nobody has a script of."""
        with self._lock:
            return self._served.keys() - self._turns.keys()
