"""The names we share with the semantic conventions are spelled as their package spells them."""

from __future__ import annotations

import pytest

from llmphases import conventions

gen_ai = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
error = pytest.importorskip("opentelemetry.semconv.attributes.error_attributes")
process = pytest.importorskip("opentelemetry.semconv._incubating.attributes.process_attributes")

NEWER_THAN_THE_PACKAGE = {
    # `cache_creation` in the package, whose GenAI names have moved to a repository of their own.
    "gen_ai.usage.cache_write.input_tokens",
}


def strings_of(*packages):
    return {
        value
        for package in packages
        for name, value in vars(package).items()
        if name.isupper() and isinstance(value, str)
    }


SHARED = sorted(
    value
    for name, value in vars(conventions).items()
    if name.isupper()
    and isinstance(value, str)
    and value.startswith(("gen_ai.", "error.", "process."))
)


@pytest.mark.parametrize("name", SHARED)
def test_a_shared_attribute_is_in_the_package(name):
    known = name in strings_of(gen_ai, error, process)
    assert known or name in NEWER_THAN_THE_PACKAGE
