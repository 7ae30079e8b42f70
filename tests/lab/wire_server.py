"""A stand-in for the servers of Anthropic, Gemini, Ollama, Mistral and Bedrock, with stated delays.

The name of the model that is asked tells the script: `server.asks(Timing(...))` gives it, and
`server.served(model)` tells what was asked, and when each piece of the answer was written. Any SDK
can ask so, and tests that run side by side do not disturb one another.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from lab.loopback import LoopbackServer, QuietHandler
from lab.wire_formats import Answer, Anthropic, Bedrock, Gemini, Mistral, Ollama
from lab.wire_openai import Completions, Responses


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How a request is to be answered. Delays are seconds, each after the one before it."""

    opening_s: float = 0.0
    """From the request to a stream's headers and what opens it."""
    first_token_s: float = 0.0
    """From the request."""
    gap_s: float = 0.0
    """Between two tokens; kept from the first one on, so that it does not drift."""
    tokens: int = 3
    cached: int = 0
    cache_written: int = 0
    status: int = 200
    """Any other is an error, without an answer."""
    fail_times: int = 0
    """The first so many requests get `fail_status`, or are cut."""
    fail_status: int = 503
    fail_s: float = 0.0
    """From the request to that status."""
    retry_after_s: float | None = None
    """What it says of when to come back."""
    cut_after: int | None = None
    """They get the beginning of a stream with so many tokens, and then the connection breaks."""


@dataclass(slots=True)
class Served:
    """One request and what it got; stamps are `time.monotonic_ns()`."""

    path: str
    body: dict[str, Any]
    received_ns: int
    pieces: list[tuple[str, int]] = field(default_factory=list)
    """What was written and when, each noted before it goes out."""

    @property
    def first_token_ns(self) -> int:
        return next(ns for kind, ns in self.pieces if kind == "token")

    @property
    def last_token_ns(self) -> int:
        return [ns for kind, ns in self.pieces if kind == "token"][-1]

    @property
    def last_piece_ns(self) -> int:
        return self.pieces[-1][1]


_ROUTES = (
    # Where the path or the body names the model, and whether it asks for a stream.
    (re.compile(r"^/v1/messages"), Anthropic(), None),
    (re.compile(r"/models/([^:/]+):streamGenerateContent"), Gemini(), True),
    (re.compile(r"/models/([^:/]+):generateContent"), Gemini(), False),
    (re.compile(r"^/api/chat"), Ollama(chat=True), None),
    (re.compile(r"^/api/generate"), Ollama(chat=False), None),
    (re.compile(r"^(?:/openai)?/v1/chat/completions"), Mistral(), None),
    (re.compile(r"^/v1/responses"), Responses(), None),
    (re.compile(r"^/v1/completions"), Completions(), None),
    (re.compile(r"^/model/([^/]+)/converse-stream"), Bedrock(), True),
    (re.compile(r"^/model/([^/]+)/converse"), Bedrock(), False),
)


class _Handler(QuietHandler):
    def do_POST(self) -> None:
        received_ns = time.monotonic_ns()
        body = json.loads(self.body())
        if (other := self.server.owner.others.get(self.path)) is not None:
            self.answer(200, json.dumps(other).encode(), "application/json")
            return
        for pattern, wire, streams in _ROUTES:
            if found := pattern.search(self.path):
                model = found[1] if found.groups() else body["model"]
                wants = body.get("stream", False) if streams is None else streams
                self._reply(Served(self.path, body, received_ns), wire, model, wants)
                return
        self.answer(404, b"{}", "application/json")

    def _reply(self, served: Served, wire: Any, model: str, streams: bool) -> None:
        owner: WireServer = self.server.owner
        timing, earlier = owner.note(model, served)
        fails = earlier < timing.fail_times
        status = timing.fail_status if fails and timing.cut_after is None else timing.status
        if status != 200:
            self._fail(served, timing, status)
        elif streams:
            self._stream(served, wire, model, timing, timing.cut_after if fails else None)
        else:
            self._whole(served, wire, model, timing)

    def _fail(self, served: Served, timing: Timing, status: int) -> None:
        self._until(served.received_ns, timing.fail_s)
        served.pieces.append(("error", time.monotonic_ns()))
        error = {"error": {"type": "lab", "message": "as it says", "code": status}}
        after = {} if timing.retry_after_s is None else {"retry_after": str(timing.retry_after_s)}
        self.answer(status, json.dumps(error).encode(), "application/json", **after)

    def _whole(self, served: Served, wire: Any, model: str, timing: Timing) -> None:
        prefill, generation = timing.first_token_s, timing.gap_s * (timing.tokens - 1)
        self._until(served.received_ns, prefill + generation)
        payload = wire.whole(_answer(model, timing, (prefill, generation)))
        served.pieces.append(("whole", time.monotonic_ns()))
        self.answer(200, json.dumps(payload).encode(), "application/json")

    def _stream(
        self, served: Served, wire: Any, model: str, timing: Timing, cut_after: int | None
    ) -> None:
        self._until(served.received_ns, timing.opening_s)
        self.send_response(200)
        self.send_header("content-type", wire.content_type)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        answer = _answer(model, timing, (timing.first_token_s, timing.gap_s * (timing.tokens - 1)))
        for kind, data in wire.opening(answer):
            self._write(served, kind, data)
        for n in range(timing.tokens if cut_after is None else cut_after):
            self._until(served.received_ns, timing.first_token_s + n * timing.gap_s)
            self._write(served, "token", wire.token(answer, n))
        if cut_after is not None:
            served.pieces.append(("cut", time.monotonic_ns()))
            self.close_connection = True
            return
        for kind, data in wire.closing(answer):
            self._write(served, kind, data)
        self.wfile.write(b"0\r\n\r\n")

    def _until(self, since_ns: int, seconds: float) -> None:
        self.server.owner.wait_until(since_ns + round(seconds * 1e9))

    def _write(self, served: Served, kind: str, data: bytes) -> None:
        served.pieces.append((kind, time.monotonic_ns()))
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


def _answer(model: str, timing: Timing, seconds: tuple[float, float]) -> Answer:
    prefill_ns, generation_ns = (round(s * 1e9) for s in seconds)
    return Answer(
        model=model,
        tokens=timing.tokens,
        cached=timing.cached,
        cache_written=timing.cache_written,
        times_ns=(0, prefill_ns, generation_ns),
    )


class WireServer(LoopbackServer):
    """The server; `url` is the base of every one of these APIs."""

    handler = _Handler

    def __init__(self) -> None:
        super().__init__()
        self.others: dict[str, dict[str, Any]] = {}
        """What other paths answer, such as those of embeddings."""
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._timings: dict[str, Timing] = {}
        self._served: dict[str, list[Served]] = {}

    def asks(self, timing: Timing | None = None) -> str:
        """A model that answers so, of a name that nobody else has."""
        with self._lock:
            model = f"lab-{next(self._numbers)}"
            self._timings[model] = timing or Timing()
            self._served[model] = []
        return model

    def note(self, model: str, served: Served) -> tuple[Timing, int]:
        """Keep a request; how it is to be answered, and how many came before it."""
        with self._lock:
            self._served[model].append(served)
            return self._timings[model], len(self._served[model]) - 1

    def served(self, model: str) -> list[Served]:
        """What this model was asked, in order of arrival."""
        with self._lock:
            return list(self._served[model])
