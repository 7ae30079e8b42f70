"""What the tests of SDKs look at: the split of a call, and whether it is as the server saw it."""

from __future__ import annotations

import contextlib

from llmphases.adapters.registry import instrument, uninstrument
from llmphases.phases import Phase

MS = 1_000_000
NEAR_NS = 30 * MS
STREAMED = {"time_to_first_token", "generation"}
WHOLE = {"inference"}


@contextlib.contextmanager
def hooked(name):
    """The SDK, hooked into for a while."""
    assert name in instrument(name).hooked
    try:
        yield
    finally:
        uninstrument(name)


def split(call):
    """The phases of the model; how long a test held a chunk is of no interest."""
    return {phase.value for phase in call.exclusive_ns} - {"transmission"}


def waits_as_the_server_does(call, served):
    """The first token no earlier than it went out, and near it; the last as much later.

    To be asked in an attempt: a busy machine may be late.
    """
    first_ns = call.exclusive_ns[Phase.TIME_TO_FIRST_TOKEN]
    lateness_ns = first_ns - (served.first_token_ns - served.received_ns)
    stalls_ns = call.exclusive_ns.get(Phase.TRANSMISSION, 0)
    generation_ns = call.exclusive_ns[Phase.GENERATION] + stalls_ns
    apart_ns = abs(generation_ns - (served.last_token_ns - served.first_token_ns))
    return 0 <= lateness_ns < NEAR_NS and apart_ns < NEAR_NS
