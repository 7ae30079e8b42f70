"""The model: answers of OpenAI's chat API from memory, over loopback, in a process of its own.

Prints its port. `x-items` says how many chunks with text a stream has; all of it is written at
once, so that the reader never waits. Whatever else is asked is answered with an empty object.
"""

from __future__ import annotations

import functools
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}


def _chunk(choices: list[dict[str, Any]], **more: Any) -> bytes:
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "gpt-4o-mini",
        "choices": choices,
        **more,
    }
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def _delta(delta: dict[str, str], reason: str | None = None) -> bytes:
    return _chunk([{"index": 0, "delta": delta, "finish_reason": reason}])


@functools.cache
def stream(items: int) -> bytes:
    """A role chunk, `items` with text, the reason of the end, the usage."""
    return b"".join(
        (
            _delta({"role": "assistant", "content": ""}),
            _delta({"content": "word "}) * items,
            _delta({}, "stop"),
            _chunk([], usage=USAGE),
            b"data: [DONE]\n\n",
        )
    )


ANSWER = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o-mini",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "a few words"},
                "finish_reason": "stop",
            }
        ],
        "usage": USAGE,
    }
).encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # the head and the body in one write
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not self.path.endswith("/chat/completions"):
            self._answer("application/json", b"{}")
        elif json.loads(asked).get("stream"):
            self._answer("text/event-stream", stream(int(self.headers.get("x-items", 1))))
        else:
            self._answer("application/json", ANSWER)

    def do_GET(self) -> None:
        self._answer("application/json", b"{}")

    def _answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        """Nothing: it would cost more than the answer."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit()
