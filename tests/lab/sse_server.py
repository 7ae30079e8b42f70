"""A stand-in for an OpenAI-compatible chat server whose every delay is stated in the request.

The script of a request travels inside it (`extra_body=Script(...).extra_body()`), so that tests
that run side by side do not disturb one another. The server keeps the monotonic time at which it
wrote each frame: `time.monotonic_ns()`, which is `time.perf_counter_ns()` on Linux. Whatever it
says of a frame is kept before the frame goes out: no client has it earlier.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from lab.loopback import LoopbackServer, QuietHandler


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """How one request is to be answered. Delays are seconds, each after the one before it."""

    label: str = ""
    """By which the test finds what was served; retries of one call share it."""
    headers_s: float = 0.0
    """From the request to the response's headers."""
    first_token_s: float = 0.0
    """From the headers to the first token."""
    gap_s: float = 0.0
    """Between two tokens; kept from the first one on, so that it does not drift."""
    end_s: float = 0.0
    """From the last token to the end of the stream."""
    tokens: int = 3
    reasoning_tokens: int = 0
    """How many come before the answer's tokens, as `reasoning_content`."""
    tool_call: bool = False
    """The answer is a tool call, its arguments in as many pieces as there are tokens."""
    role_first: bool = True
    """An empty chunk with the role alone, at once after the headers."""
    ping_s: float | None = None
    """A comment line this long after the headers, before the first token."""
    usage: bool = False
    """A last chunk with usage and no choices, as `stream_options.include_usage` gives."""
    timings: bool = False
    """llama.cpp's own account (`timings`) in the last chunk."""
    cut_after: int | None = None
    """The connection breaks after so many tokens."""
    fail_times: int = 0
    """The first so many requests of this label get `fail_status`, `fail_s` after they came."""
    fail_status: int = 503
    fail_s: float = 0.0
    fail_by_cutting: bool = False
    """They get the beginning of an answer instead, and then the connection breaks."""
    retry_after_s: float | None = None
    headers: dict[str, str] = field(default_factory=dict)
    """More headers of a response that is no failure."""

    def extra_body(self) -> dict[str, Any]:
        """For the `extra_body` of the OpenAI client."""
        return {"lab": asdict(self)}


@dataclass(slots=True)
class Frame:
    """One piece of a response, and when it was written."""

    kind: str
    """`role`, `ping`, `reasoning`, `token`, `finish`, `usage` or `done`."""
    at_ns: int
    text: str = ""


@dataclass(slots=True)
class Served:
    """One request and what it got."""

    script: Script
    body: dict[str, Any]
    headers: dict[str, str]
    received_ns: int
    status: int = 200
    headers_ns: int | None = None
    frames: list[Frame] = field(default_factory=list)
    ended: str = "open"
    """`done`, `cut`, `failed`, or `open` if the client went before the last frame."""

    def of_kind(self, *kinds: str) -> list[Frame]:
        """The frames of some kinds, in order."""
        return [frame for frame in self.frames if frame.kind in kinds]

    @property
    def first_token_ns(self) -> int:
        """When the first token, reasoning included, was written."""
        return self.of_kind("reasoning", "token")[0].at_ns

    @property
    def last_token_ns(self) -> int:
        """When the last one was."""
        return self.of_kind("reasoning", "token")[-1].at_ns


class _Reply:
    """Writes one response as its script says."""

    def __init__(self, handler: QuietHandler, served: Served, server: SseServer) -> None:
        self.handler = handler
        self.served = served
        self.script = served.script
        self.server = server
        self.model = str(served.body.get("model", "lab"))

    def after(self, moment_ns: int, seconds: float) -> int:
        at_ns = moment_ns + round(seconds * 1e9)
        self.server.wait_until(at_ns)
        return at_ns

    def write(self, kind: str, payload: str, text: str = "") -> None:
        data = payload.encode()
        self.served.frames.append(Frame(kind, time.monotonic_ns(), text))
        self.handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def chunk(
        self,
        kind: str,
        delta: dict[str, Any] | None,
        *,
        finish: str | None = None,
        text: str = "",
        **more: Any,
    ) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        payload = {
            "id": "chatcmpl-lab",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": self.model,
            "choices": [] if delta is None else [choice],
            **more,
        }
        self.write(kind, f"data: {json.dumps(payload)}\n\n", text)

    def usage(self) -> dict[str, Any]:
        written = self.script.tokens + self.script.reasoning_tokens
        return {
            "prompt_tokens": 11,
            "completion_tokens": written,
            "total_tokens": 11 + written,
            "completion_tokens_details": {"reasoning_tokens": self.script.reasoning_tokens},
        }

    def fail(self) -> None:
        self.after(self.served.received_ns, self.script.fail_s)
        if self.script.fail_by_cutting:
            self.served.headers_ns = time.monotonic_ns()
            self.handler.send_response(200)
            self.handler.send_header("content-type", "application/json")
            self.handler.send_header("content-length", "1000")
            self.handler.end_headers()
            self.handler.wfile.write(b'{"id": ')
            self.cut()
            return
        self.served.status = self.script.fail_status
        self.served.ended = "failed"
        more = {}
        if self.script.retry_after_s is not None:
            more["retry_after"] = str(self.script.retry_after_s)
        body = json.dumps({"error": {"message": "as the script says", "type": "lab"}}).encode()
        self.served.headers_ns = time.monotonic_ns()
        self.handler.answer(self.script.fail_status, body, "application/json", **more)

    def whole(self) -> None:
        script = self.script
        written = script.tokens + script.reasoning_tokens
        generation_s = script.gap_s * max(written - 1, 0)
        took_s = script.headers_s + script.first_token_s + generation_s + script.end_s
        self.after(self.served.received_ns, took_s)
        message = {"role": "assistant", "content": "".join(map(_word, range(script.tokens)))}
        payload = {
            "id": "chatcmpl-lab",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": self.model,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": self.usage(),
        }
        self.served.headers_ns = time.monotonic_ns()
        self.served.ended = "done"
        body = json.dumps(payload).encode()
        self.handler.answer(200, body, "application/json", **script.headers)

    def stream(self) -> None:
        script = self.script
        headers_ns = self.after(self.served.received_ns, script.headers_s)
        self.handler.send_response(200)
        self.handler.send_header("content-type", "text/event-stream")
        self.handler.send_header("transfer-encoding", "chunked")
        for name, value in script.headers.items():
            self.handler.send_header(name, value)
        self.served.headers_ns = time.monotonic_ns()
        self.handler.end_headers()
        if script.role_first:
            self.chunk("role", {"role": "assistant", "content": ""})
        if script.ping_s is not None:
            self.after(headers_ns, script.ping_s)
            self.write("ping", ": ping\n\n")
        if self.tokens(headers_ns):
            self.closing()

    def tokens(self, headers_ns: int) -> bool:
        """All tokens; False if the script cut them short."""
        script = self.script
        first_ns = headers_ns + round(script.first_token_s * 1e9)
        kinds = ["reasoning"] * script.reasoning_tokens + ["token"] * script.tokens
        for n, kind in enumerate(kinds):
            if script.cut_after == n:
                self.cut()
                return False
            self.after(first_ns, n * script.gap_s)
            self.chunk(kind, self.delta(kind, n), text=_word(n))
        if script.cut_after is not None and script.cut_after >= len(kinds):
            self.cut()
            return False
        self.after(time.monotonic_ns(), script.end_s)
        return True

    def delta(self, kind: str, n: int) -> dict[str, Any]:
        if kind == "reasoning":
            return {"reasoning_content": _word(n)}
        if not self.script.tool_call:
            return {"content": _word(n)}
        first = n == self.script.reasoning_tokens
        call: dict[str, Any] = {"index": 0, "function": {"arguments": _word(n)}}
        if first:
            call |= {"id": "call_lab", "type": "function"}
            call["function"]["name"] = "look_up"
        return {"tool_calls": [call]}

    def closing(self) -> None:
        more = {"timings": self.timings()} if self.script.timings else {}
        self.chunk("finish", {}, finish="tool_calls" if self.script.tool_call else "stop", **more)
        if self.script.usage:
            self.chunk("usage", None, usage=self.usage())
        self.served.ended = "done"
        self.write("done", "data: [DONE]\n\n")
        self.handler.wfile.write(b"0\r\n\r\n")

    def timings(self) -> dict[str, Any]:
        served = self.served
        if served.headers_ns is None or not served.of_kind("reasoning", "token"):
            return {}
        return {
            "prompt_n": 11,
            "prompt_ms": (served.first_token_ns - served.headers_ns) / 1e6,
            "predicted_n": len(served.of_kind("reasoning", "token")),
            "predicted_ms": (served.last_token_ns - served.first_token_ns) / 1e6,
        }

    def cut(self) -> None:
        self.served.ended = "cut"
        self.handler.close_connection = True


def _word(n: int) -> str:
    return f"word{n} "


class _Handler(QuietHandler):
    def do_POST(self) -> None:
        received_ns = time.monotonic_ns()
        body = json.loads(self.body())
        owner: SseServer = self.server.owner
        script = Script(**body.pop("lab", {}))
        headers = {name.lower(): value for name, value in self.headers.items()}
        served = Served(script, body, headers, received_ns)
        attempt = owner.note(served)
        reply = _Reply(self, served, owner)
        if attempt < script.fail_times:
            reply.fail()
        elif body.get("stream"):
            reply.stream()
        else:
            reply.whole()


class SseServer(LoopbackServer):
    """The server; `base_url` is for the OpenAI client."""

    handler = _Handler

    def __init__(self) -> None:
        super().__init__()
        self.base_url = f"{self.url}/v1"
        self._lock = threading.Lock()
        self._labels = itertools.count()
        self._served: list[Served] = []

    def note(self, served: Served) -> int:
        """Keep a request; how many of the same label came before it."""
        with self._lock:
            earlier = sum(1 for one in self._served if one.script.label == served.script.label)
            self._served.append(served)
        return earlier

    def fresh_label(self) -> str:
        """A label nobody else has."""
        return f"label-{next(self._labels)}"

    def served(self, label: str = "") -> list[Served]:
        """What was asked under a label, in order of arrival; under any, if none is given."""
        with self._lock:
            return [one for one in self._served if label in ("", one.script.label)]
