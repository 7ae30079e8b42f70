"""The carrier: our frame and our span in OpenTelemetry's own context."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextvars import ContextVar, Token
from types import SimpleNamespace

import pytest
from opentelemetry import baggage, trace
from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider

from capture.wirings import exported
from llmphases import llm_call, prompt_build, traced_llm_call
from llmphases.capture import current
from llmphases.observers import Frame
from llmphases.otel import carrier as carrier_module
from llmphases.otel.carrier import AttachedVariable, OtelCarrier, is_suppressed
from otel.pieces import open_call


def _span() -> trace.Span:
    return TracerProvider(shutdown_on_exit=False).get_tracer("t").start_span("call")


def _frame_with_span() -> Frame:
    return Frame(owner=open_call(state=_span()))


def test_entering_makes_the_frame_and_its_owners_span_current():
    carrier, frame = OtelCarrier(), _frame_with_span()
    token = carrier.variable.set(carrier.enter(None, frame))
    try:
        assert trace.get_current_span() is frame.owner.state
        assert carrier.frame_of(carrier.variable.get()) is frame
    finally:
        carrier.variable.reset(token)
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert carrier.frame_of(carrier.variable.get()) is None


def test_what_others_keep_in_the_context_stays_there():
    carrier = OtelCarrier()
    base = baggage.set_baggage("tenant", "a", Context())
    entered = carrier.enter(base, _frame_with_span())
    assert baggage.get_baggage("tenant", entered) == "a"
    assert carrier.frame_of(base) is None, "the context entered from was changed"


@pytest.mark.parametrize("state", [None, trace.INVALID_SPAN])
def test_an_owner_that_is_not_drawn_leaves_the_current_span_alone(state: trace.Span | None):
    """Without a provider, old versions of the API give the invalid span in place of one."""
    span = _span()
    entered = OtelCarrier().enter(
        trace.set_span_in_context(span, Context()), Frame(owner=open_call(state=state))
    )
    assert trace.get_current_span(entered) is span


def test_another_process_goes_on_where_this_one_injected():
    carrier, frame = OtelCarrier(), _frame_with_span()
    headers = carrier.inject(carrier.enter(None, frame))
    remote = trace.get_current_span(carrier.extract(headers)).get_span_context()
    here = frame.owner.state.get_span_context()
    assert (remote.trace_id, remote.span_id, remote.is_remote) == (
        here.trace_id,
        here.span_id,
        True,
    )


def test_nothing_injected_is_an_empty_context():
    assert OtelCarrier().extract({}) == {}


def test_suppressed_instrumentation_is_noticed():
    assert is_suppressed(otel_context.set_value("suppress_instrumentation", True, Context()))
    key = otel_context._SUPPRESS_INSTRUMENTATION_KEY
    assert is_suppressed(otel_context.set_value(key, True, Context()))
    assert not is_suppressed(Context())
    assert not is_suppressed(None)


def test_another_runtime_context_is_reached_by_attach_and_detach():
    variable = AttachedVariable()
    context = otel_context.set_value("k", 1, Context())
    token = variable.set(context)
    assert variable.get() == context
    variable.reset(token)
    assert "k" not in variable.get()


class _Renamed:
    """A runtime context that keeps its variable under another name."""

    def __init__(self) -> None:
        self._variable: ContextVar[Context] = ContextVar("renamed")

    def attach(self, context: Context) -> Token[Context]:
        return self._variable.set(context)

    def get_current(self) -> Context:
        return self._variable.get(Context())

    def detach(self, token: Token[Context]) -> None:
        self._variable.reset(token)


class _Misleading(_Renamed):
    """One whose variable of that name is something else."""

    _current_context: ContextVar[Context] = ContextVar("not the current one")


def _public_only() -> SimpleNamespace:
    """OpenTelemetry's module without anything private."""
    public = ("attach", "create_key", "detach", "get_current", "get_value", "set_value")
    return SimpleNamespace(**{name: getattr(otel_context, name) for name in public})


@pytest.mark.parametrize("runtime", [_Renamed, _Misleading, None])
def test_without_the_private_names_calls_are_traced_by_the_public_ones(
    monkeypatch: pytest.MonkeyPatch, runtime: Callable[[], object] | None
):
    if runtime is None:
        monkeypatch.setattr(carrier_module, "otel_context", _public_only())
    else:
        monkeypatch.setattr(otel_context, "_RUNTIME_CONTEXT", runtime())
    with exported() as sink:
        assert isinstance(current.wired().carrier.variable, AttachedVariable)
        with llm_call("asked"), prompt_build():
            inside = trace.get_current_span()
        assert list(traced_llm_call(name="stream")(lambda: iter("ab"))()) == ["a", "b"]
        assert trace.get_current_span() is trace.INVALID_SPAN
    asked, built = sink.one("asked"), sink.one("prompt_build")
    assert inside.get_span_context() == built.context
    assert built.parent == asked.context
    assert sink.one("stream").attributes["llmphases.chunks"] == 2


def test_with_them_the_variable_itself_is_set():
    assert isinstance(OtelCarrier().variable, ContextVar)


def test_the_carrier_does_not_load_the_sdk():
    code = (
        "import sys, llmphases.otel.carrier, llmphases.otel.spans, llmphases.otel.metrics;"
        "sys.exit('opentelemetry.sdk' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
