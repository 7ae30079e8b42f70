"""Rules about how the package is written; each exception is listed with its reason."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from architecture.source_tree import docstrings, functions, imported, is_within, modules
from llmphases import conventions

MODULES = pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)

SWALLOWS: dict[str, tuple[int, str]] = {
    "capture/drivers.py": (
        4,
        # sync and async, two each
        "around `yield`, to throw it into the source; around a chunk's rule, a guard costs a call",
    ),
}
"""How many handlers a module other than observers.py may have that end an error, and why."""

LONG_MODULES: dict[str, str] = {
    "observers.py": "one contract of eight events, and the same eight again in the fan-out",
}
LONG_FUNCTIONS: dict[str, str] = {
    "wiring.py:configure": "a dozen settings, each named and given once",
    "recorder/closing.py:close_call": "one record of forty fields, each named once",
    "capture/drivers.py:_drive": "one loop; a function in it would cost a call per chunk",
    "capture/drivers.py:_drive_async": "the same, for async generators",
}
"""`module:function` -> why it may have more than 40 lines."""

LONGEST_MODULE = 300
LONGEST_FUNCTION = 40
EMPTY_WORDS = {"util", "utils", "helper", "helpers", "common", "base", "misc", "manager", "tools"}


def ends_an_error(handler: ast.ExceptHandler) -> bool:
    """Whether it catches everything and does not throw it onward."""
    caught = [handler.type] if not isinstance(handler.type, ast.Tuple) else handler.type.elts
    everything = any(
        kind is None or (isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException"))
        for kind in caught
    )
    rethrown = any(isinstance(node, ast.Raise) and node.exc is None for node in ast.walk(handler))
    return everything and not rethrown


def suppresses_everything(node: ast.AST) -> bool:
    """Whether it is `suppress(Exception)`."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    given = {argument.id for argument in node.args if isinstance(argument, ast.Name)}
    return name == "suppress" and bool(given & {"Exception", "BaseException"})


@MODULES
def test_one_place_swallows_errors(module):
    if module.name == "observers.py":
        return
    allowed, _why = SWALLOWS.get(module.name, (0, ""))
    found = [
        f"line {node.lineno}"
        for node in ast.walk(module.tree)
        if (isinstance(node, ast.ExceptHandler) and ends_an_error(node))
        or suppresses_everything(node)
    ]
    assert len(found) == allowed, f"{found}: use never_raises or guard of observers.py"


@MODULES
def test_one_place_asks_the_time(module):
    if module.name == "clock.py":
        return
    asked = [name for name in imported(module.tree) if is_within(name, "time")]
    asked += [
        f"line {node.lineno}"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute)
        and node.attr in ("now", "utcnow", "today")
        and isinstance(node.value, (ast.Name, ast.Attribute))
        and "datetime" in ast.unparse(node.value)
    ]
    assert asked == [], "ask the Clock (clock.py)"


@MODULES
def test_modules_are_small(module):
    lines = len(module.text.splitlines())
    if module.name in LONG_MODULES:
        assert lines > LONGEST_MODULE, "it is short now: take it off the list"
    else:
        assert lines <= LONGEST_MODULE, "one job each; split it, or list it with a reason"


@MODULES
def test_functions_are_short(module):
    long = {
        f"{module.name}:{function.name}"
        for function in functions(module.tree)
        if function.end_lineno - function.lineno + 1 > LONGEST_FUNCTION
    }
    listed = {name for name in LONG_FUNCTIONS if name.startswith(f"{module.name}:")}
    assert long == listed


@MODULES
def test_names_of_modules_mean_something(module):
    parts = set(module.name.removesuffix(".py").replace("/", "_").split("_"))
    assert parts & EMPTY_WORDS == set()


@pytest.mark.parametrize(
    "module", [one for one in modules() if one.is_init], ids=lambda module: module.name
)
def test_inits_hold_no_logic(module):
    other = [
        ast.unparse(statement)
        for statement in module.tree.body
        if not isinstance(statement, (ast.Import, ast.ImportFrom))
        and not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        and not (
            isinstance(statement, ast.Assign)
            and ast.unparse(statement.targets[0]) in ("__all__", "__version__")
        )
    ]
    assert other == []


@MODULES
def test_names_of_attributes_and_metrics_come_from_conventions(module):
    if module.name in ("conventions.py", "phases.py"):
        return
    known = {value for value in vars(conventions).values() if isinstance(value, str)}
    known = {value for value in known if "." in value and " " not in value}
    spoken = docstrings(module.tree)
    dotted = {one.dotted for one in modules()}
    packages = {f"{name}." for name in dotted if name != "llmphases"}
    typed_twice = [
        f"line {node.lineno}: {node.value!r}"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in spoken
        and node.value not in dotted | packages
        and (
            node.value in known - {conventions.DEFAULT_FILE}
            or (node.value.startswith(("llmphases.", "gen_ai.")) and " " not in node.value)
        )
    ]
    assert typed_twice == []


def test_no_two_conventions_share_a_name():
    names = [
        value.name for value in vars(conventions).values() if isinstance(value, conventions.Metric)
    ]
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_every_exception_in_these_lists_is_about_a_file_that_exists():
    present = {module.name for module in modules()}
    listed = {*SWALLOWS, *LONG_MODULES, *(name.split(":")[0] for name in LONG_FUNCTIONS)}
    assert listed - present == set()
