"""Frameworks that look closely at functions see the undecorated one."""

from __future__ import annotations

import functools
import inspect
import threading

import pytest

from llmphases import post_processing, traced_llm_call

pytest_plugins = ["pytester"]


# --- FastAPI --------------------------------------------------------------------------------


class Sync:
    def __call__(self, n: int) -> int:
        return n + 1


class Async:
    async def __call__(self, n: int) -> int:
        return n + 2


def sync_route(n: int) -> dict:
    return {"n": n, "thread": threading.current_thread() is threading.main_thread()}


async def async_route(n: int) -> dict:
    return {"n": n}


def generator_dependency(n: int):
    yield n * 2


async def async_generator_dependency(n: int):
    yield n * 3


def plain_dependency(n: int) -> int:
    return n * 4


async def async_dependency(n: int) -> int:
    return n * 5


def wrapped(function):
    """Somebody else's decorator."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args, **kwargs):
            return await function(*args, **kwargs)

        return awaited

    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


DEPENDENCIES = {
    "generator": generator_dependency,
    "async generator": async_generator_dependency,
    "plain": plain_dependency,
    "awaited": async_dependency,
    "partial": functools.partial(plain_dependency),
    "async partial": functools.partial(async_dependency),
    "object": Sync(),
    "async object": Async(),
    "wrapped": wrapped(plain_dependency),
    "wrapped async": wrapped(async_dependency),
}


def answers(decorate):
    """What an app with these routes answers, and its schema."""
    fastapi = pytest.importorskip("fastapi")
    testclient = pytest.importorskip("fastapi.testclient")
    app = fastapi.FastAPI()
    app.get("/sync")(decorate(sync_route))
    app.get("/async")(decorate(async_route))
    for name, dependency in DEPENDENCIES.items():

        def route(value=fastapi.Depends(decorate(dependency))):  # noqa: B008  # as FastAPI wants it
            return {"value": value}

        app.get(f"/{name.replace(' ', '-')}", name=name)(route)
    client = testclient.TestClient(app)
    paths = [route.path for route in app.routes if hasattr(route, "dependant")]
    found = {path: client.get(path, params={"n": 7}).json() for path in paths}
    found["bad"] = client.get("/sync", params={"n": "x"}).json()
    return found, app.openapi()


DECORATORS = {
    "call": traced_llm_call,
    "phase": post_processing,
    "both": lambda function: traced_llm_call(post_processing(function)),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("decorator", DECORATORS)
def test_fastapi_answers_as_without_us(calls, decorator):
    """RC-038: the same answers and the same schema; sync routes run in the thread pool."""
    plain = answers(lambda function: function)
    assert answers(DECORATORS[decorator]) == plain
    assert plain[0]["/sync"]["thread"] is False
    assert {name: value["value"] for name, value in plain[0].items() if "value" in value} == {
        "/generator": 14, "/async-generator": 21, "/plain": 28, "/awaited": 35, "/partial": 28,
        "/async-partial": 35, "/object": 8, "/async-object": 9, "/wrapped": 28,
        "/wrapped-async": 35,
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fastapi_answers_as_without_us_below_another_decorator(calls):
    """RC-038"""

    def both(function):
        return wrapped(traced_llm_call(function)) if inspect.isfunction(function) else function

    def other(function):
        return wrapped(function) if inspect.isfunction(function) else function

    assert answers(both) == answers(other)


# --- pytest ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_pytest_collects_decorated_tests_and_fixtures(pytester):
    """RC-046"""
    pytester.makepyfile(
        """
        import pytest
        from llmphases import traced_llm_call
        from llmphases.testing import recorded

        log = []

        @pytest.fixture(scope="module", autouse=True)
        def calls():
            with recorded() as kept:
                yield kept.calls

        @pytest.fixture
        @traced_llm_call
        def below():
            yield "below"
            log.append("torn down")

        @pytest.fixture
        @traced_llm_call
        async def async_below():
            yield "async"
            log.append("torn down, async")

        @traced_llm_call
        @pytest.mark.parametrize("n", [1, 2])
        def test_above(below, n):
            assert below == "below" and n in (1, 2)

        @pytest.mark.parametrize("n", [1, 2])
        @traced_llm_call
        def test_below(below, n):
            assert below == "below" and n in (1, 2)

        @traced_llm_call
        async def test_async(async_below):
            assert async_below == "async"

        class TestClass:
            @traced_llm_call
            def test_method(self, below):
                assert below == "below"

        def test_ends(calls):
            assert log == ["torn down"] * 4 + ["torn down, async", "torn down"]
            ended = [call.ended for call in calls if call.name == "below"]
            assert ended == ["exhausted"] * 5
        """
    )
    pytester.makeini("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-q")
    result.assert_outcomes(passed=7)
