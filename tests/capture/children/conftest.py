"""Fixtures for the tests of child processes."""

from __future__ import annotations

import pytest

from llmphases.capture.children import instrumentation


@pytest.fixture
def hooked():
    """With the hooks in `subprocess` and asyncio."""
    assert instrumentation.install() is None
    yield
    instrumentation.uninstall()
