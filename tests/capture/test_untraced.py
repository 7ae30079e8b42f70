"""A driver with nobody to tell is still exact."""

from __future__ import annotations

import asyncio

import pytest

from capture.random_programs import async_body, body
from capture.test_drivers import difference, run, run_async, undecorated, undecorated_async
from llmphases.capture.drivers import driven, driven_async
from llmphases.capture.untraced import NOTHING, Untraced, no_token


class Refusing(Untraced):
    """Does not begin, as where a fault of ours or the end of the call was in between."""

    def start(self, driver):
        return None


@pytest.mark.parametrize("flow", [Untraced, Refusing])
def test_untraced_programs_do_not_differ(flow):
    for seed in range(500):
        ours, is_restored = run(seed, lambda *a, **k: driven(body(*a, **k), flow()), otel=False)
        assert difference(undecorated(seed, otel=False), ours) == "", f"seed {seed}"
        assert is_restored


@pytest.mark.parametrize("flow", [Untraced, Refusing])
async def test_untraced_async_programs_do_not_differ(flow):
    for seed in range(500):
        ours, is_restored = await run_async(
            seed, lambda *a, **k: driven_async(async_body(*a, **k), flow()), otel=False
        )
        assert difference(await undecorated_async(seed, otel=False), ours) == "", f"seed {seed}"
        assert is_restored


def test_nothing_is_a_token():
    flow = Untraced()
    assert flow.start(lambda: None) == NOTHING
    assert flow.rule_for("word")("word") == flow.broken_rule()("word") == no_token("word") == 0
    assert flow.seen(1, 1, "context") == "context"
    assert flow.long_stall(1, 1) > 10**18
    assert asyncio.iscoroutinefunction(flow.over) is False
