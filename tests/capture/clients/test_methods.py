"""A hooked method looks like itself."""

from __future__ import annotations

import inspect
import pickle

from capture.clients import small_sdk


def test_to_inspect_it_is_the_method(client):
    plain = inspect.unwrap(vars(small_sdk.Client)["ask"])
    assert inspect.signature(small_sdk.Client.ask) == inspect.signature(plain)
    assert (small_sdk.Client.ask.__name__, small_sdk.Client.ask.__doc__) == ("ask", plain.__doc__)
    assert inspect.ismethod(client.ask)


def test_its_coroutines_are_coroutines(async_client):
    body = async_client.ask("answer")
    assert inspect.iscoroutine(body)
    assert body.__qualname__ == "AsyncClient.ask"
    body.close()


def test_objects_with_hooked_methods_are_pickled_as_before(client):
    assert type(pickle.loads(pickle.dumps(client))) is small_sdk.Client
