"""Recorded by the machine's clock, which the server stamps with as well."""

from __future__ import annotations

import pytest

from llmphases.testing import recorded


@pytest.fixture
def heard():
    with recorded() as found:
        yield found
