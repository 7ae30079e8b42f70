"""A program: runs CPython's own tests of subprocesses, with or without our hooks around them.

`python cpython_suite.py hooked|plain MODULE...` prints one JSON object. Anything that fails only
with hooks is something that a program would feel.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
import unittest


def suite_of(names):
    """The tests of these modules of the package `test`."""
    importlib.import_module("test.support")
    loader = unittest.defaultTestLoader
    return unittest.TestSuite([loader.loadTestsFromName(f"test.{name}") for name in names])


def run(names):
    """All of them, one after the other, in the current context."""
    result = unittest.TextTestRunner(verbosity=0, stream=io.StringIO()).run(suite_of(names))
    return {
        "run": result.testsRun,
        "failed": sorted(str(test) for test, _ in result.failures + result.errors),
        "why": [text[-2000:] for _, text in result.failures + result.errors],
    }


def run_hooked(names):
    """The same inside a traced call, and how many children were seen."""
    import llmphases
    from llmphases.testing import recorded

    with recorded() as kept:
        # Told nothing of the trace: some tests look at the whole environment of their child.
        llmphases.instrument("subprocess", propagate=False)
        with llmphases.llm_call("all of it") as call:
            found = run(names)
            children = call_children(call)
        llmphases.uninstrument()
    return {**found, "children": children, "calls": len(kept.calls)}


def call_children(call):
    """How many child processes the open call has had."""
    from llmphases.capture import current

    return current.recorder_of(current.frame_here()).facts.children


def main():
    """As the docstring says."""
    how, *names = sys.argv[1:]
    with contextlib.redirect_stdout(sys.stderr):
        found = run(names) if how == "plain" else run_hooked(names)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
