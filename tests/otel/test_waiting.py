"""Waiting for what may take longer than anyone waits."""

from __future__ import annotations

import threading

from opentelemetry import context as otel_context

from llmphases.otel.carrier import is_suppressed
from llmphases.otel.waiting import Deadline, Running, force_flush_of

_SOON = 60.0


def test_a_deadline_comes():
    assert 0 < Deadline(100).left_s() <= 100
    assert Deadline(0).left_s() == 0
    assert Deadline(-1).left_s() == 0


def _fail() -> None:
    raise ValueError("no")


def test_what_runs_has_worked_unless_it_says_no_or_raises():
    assert Running(lambda: True).has_worked(_SOON)
    assert Running(lambda: None).has_worked(_SOON), "some say nothing when it is done"
    assert not Running(lambda: False).has_worked(_SOON)
    assert not Running(_fail).has_worked(_SOON)


def test_what_takes_too_long_has_not_worked():
    go_on = threading.Event()
    one = Running(go_on.wait)
    assert not one.has_worked(0.01)
    go_on.set()
    assert one.has_worked(_SOON)


def test_exporters_requests_are_nobodys_calls():
    seen: list[bool] = []
    for is_traced in (False, True):
        Running(
            lambda: seen.append(is_suppressed(otel_context.get_current())), is_traced=is_traced
        ).has_worked(_SOON)
    assert seen == [True, False]


def test_a_provider_that_cannot_flush_is_not_asked():
    assert force_flush_of(object()) is None
