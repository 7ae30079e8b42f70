"""An adapter is data and a few functions: a new provider is one small file."""

from __future__ import annotations

import ast

import pytest

from architecture.source_tree import imported, is_within, modules

SHARED = {
    "__init__.py": "empty",
    "contract.py": "what a shape is",
    "answers.py": "reads every whole answer we know",
    "chunks.py": "which shapes there are",
    "usage.py": "reads every usage we know",
    "registry.py": "what can be hooked into",
    "reported.py": "reads every report of times we know",
    "server_headers.py": "reads the headers of every server we know",
    "text.py": "finds the dicts in raw text",
}
LONGEST = 130
SHAPES = [
    module
    for module in modules()
    if module.path.parent.name == "adapters" and module.path.name not in SHARED
]

shapes = pytest.mark.parametrize("module", SHAPES, ids=lambda module: module.path.name)


@shapes
def test_a_shape_is_small(module):
    assert len(module.text.splitlines()) <= LONGEST


@shapes
def test_a_shape_defines_no_class(module):
    classes = [node.name for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)]
    assert classes == []


@shapes
def test_a_shape_knows_the_model_and_other_adapters_only(module):
    strangers = [
        name
        for name in imported(module.tree)
        if is_within(name, "llmphases")
        and not is_within(name, "llmphases.adapters")
        and not is_within(name, "llmphases.calls")
    ]
    assert strangers == []
