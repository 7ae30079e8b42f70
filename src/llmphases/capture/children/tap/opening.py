"""A tap for one command that is about to be run."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from llmphases.capture.children.environment import child_environment
from llmphases.capture.children.tap.contract import Reading
from llmphases.capture.children.tap.moments import TapMoments
from llmphases.capture.children.tap.steering import texts
from llmphases.capture.children.tap.tap import Tap
from llmphases.capture.current import block_of, frame_here, is_off_here, recorder_of, wired

if TYPE_CHECKING:
    from llmphases.capture.children.command import Command

logger = logging.getLogger("llmphases")


def open_tap(command: Command) -> Tap | None:
    """A tap that listens, before anything is timed; None where nobody wants to know.

    Raises `ConfigurationError` for surroundings that it cannot do with.
    """
    frame = None if is_off_here() else frame_here()
    is_owned = recorder_of(frame) is not None and block_of(frame) is not None
    if is_off_here() or is_owned:
        return None
    wiring = wired()
    env = child_environment(command.env, {}, inherit_otel=command.inherit_otel)
    route = wiring.route_for(command.argv, texts(env), command.cwd)
    reading = Reading(
        now=wiring.now,
        asks_a_model=wiring.asks_a_model,
        kind_of=lambda event: wiring.shape_of(event).kind(event),
    )
    tap = Tap(route, env, TapMoments(), reading)
    if tap.open():
        return tap
    logger.warning("llmphases: tap: it could not listen, and the command runs without it")
    return None
