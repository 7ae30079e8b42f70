"""What the tests of SDKs look at: the split of a call, and whether it is as the server saw it."""

from __future__ import annotations

import contextlib
import time

from llmphases.adapters.registry import instrument, uninstrument
from llmphases.calls import Ended
from llmphases.phases import Phase

HTTP = ("httpx", "httpx2", "aiohttp", "urllib3")
STREAMED = {"time_to_first_token", "generation"}
WHOLE = {"inference"}


@contextlib.contextmanager
def hooked(name, *, http=False):
    """The SDK, hooked into for a while, and the HTTP clients that are below it."""
    names = (name, *HTTP) if http else (name,)
    assert name in instrument(*names).hooked
    try:
        yield
    finally:
        uninstrument(*names)


def split(call):
    """The phases of the model; how long a test held a chunk is of no interest."""
    return {phase.value for phase in call.exclusive_ns} - {"transmission"}


class Reading:
    """When a test asked, and when it had each piece of text: later than whoever stamps for us."""

    def __init__(self):
        self.asked_ns = time.monotonic_ns()
        self.text_ns = []

    def all_of(self, stream, has_text):
        """What a stream gives."""
        chunks = []
        for chunk in stream:
            if has_text(chunk):
                self.text_ns.append(time.monotonic_ns())
            chunks.append(chunk)
        return chunks

    def assert_split(self, call, served):
        """The call's times lie between what the server did and what the test saw.

        So it is on a machine of any load; on one at rest the two are a few milliseconds apart.
        """
        assert (split(call), call.ended, call.requests) == (STREAMED, Ended.EXHAUSTED, 1)
        first_ns, generation_ns, held_ns = (
            call.exclusive_ns.get(phase, 0)
            for phase in (Phase.TIME_TO_FIRST_TOKEN, Phase.GENERATION, Phase.TRANSMISSION)
        )
        assert first_ns + held_ns >= served.first_token_ns - served.received_ns
        assert first_ns <= self.text_ns[0] - self.asked_ns
        assert generation_ns + held_ns >= served.last_token_ns - self.text_ns[0]
        assert generation_ns <= self.text_ns[-1] - served.first_token_ns

    def assert_retried(self, call, served, pause_s):
        """Its attempts are those that the server saw; the failed one is no wait for a token."""
        failed, answered = served
        assert (call.requests, call.retries, call.error_type) == (2, 1, None)
        assert split(call) == {*STREAMED, "retry"}
        retry_ns = call.exclusive_ns[Phase.RETRY]
        assert retry_ns >= failed.last_piece_ns - failed.received_ns + round(pause_s * 1e9)
        assert retry_ns <= answered.received_ns - self.asked_ns
        first_ns = call.exclusive_ns[Phase.TIME_TO_FIRST_TOKEN]
        held_ns = call.exclusive_ns.get(Phase.TRANSMISSION, 0)
        assert first_ns + held_ns >= answered.first_token_ns - answered.received_ns
        assert first_ns <= self.text_ns[0] - failed.last_piece_ns - round(pause_s * 1e9)
