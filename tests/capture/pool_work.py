"""What the workers of `pool_program` do; a module of its own, as a program of some size has it."""

from __future__ import annotations

import os

from llmphases import llm_call, prompt_build, traced_llm_call


@traced_llm_call(name="place", model="stand-in")
def place(segment):
    with prompt_build():
        return segment * 10, os.getpid()


def undecorated(segment):
    with llm_call("place", model="stand-in"), prompt_build():
        return segment * 10, os.getpid()


@traced_llm_call(name="place", model="stand-in")
def stream(segment):
    with prompt_build():
        pass
    yield segment * 10


def consumed(segment):
    (item,) = stream(segment)
    return item, os.getpid()


def failing(segment):
    with llm_call("place"), prompt_build():
        raise LookupError(str(segment))


class Tokens:
    """Cannot be pickled."""

    def __reduce__(self):
        raise TypeError("not to be pickled")
