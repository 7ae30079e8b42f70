"""The package as files and syntax trees, for rules that are about its text."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "llmphases"
TESTS = ROOT / "tests"


@dataclass(frozen=True, slots=True)
class Module:
    """One file of the package."""

    path: Path

    @property
    def name(self) -> str:
        """Its path from the package on, as in `otel/setup.py`."""
        return self.path.relative_to(SOURCE).as_posix()

    @property
    def dotted(self) -> str:
        """What it is imported as."""
        parts = ("llmphases", *self.path.relative_to(SOURCE).with_suffix("").parts)
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def text(self) -> str:
        """Its source."""
        return self.path.read_text("utf-8")

    @property
    def tree(self) -> ast.Module:
        """Its source, parsed."""
        return _parsed(self.path)

    @property
    def is_init(self) -> bool:
        """Whether it is a package's `__init__`."""
        return self.path.name == "__init__.py"


@functools.cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def modules() -> list[Module]:
    """Every file of the package."""
    return [Module(path) for path in sorted(SOURCE.rglob("*.py"))]


def imported(tree: ast.AST) -> Iterator[str]:
    """The dotted names a file imports, `from a import b` as `a.b`; inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_within(name: str, package: str) -> bool:
    """Whether a dotted name is a package or something in it."""
    return name == package or name.startswith(package + ".")


Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST) -> Iterator[Function]:
    """Every function and method, nested ones too."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node


def does_something(function: Function) -> bool:
    """Whether there is more in it than a docstring, `...` or `pass`."""
    return any(
        not isinstance(statement, ast.Pass)
        and not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in function.body
    )


def docstrings(tree: ast.AST) -> set[int]:
    """The ids of all string constants that stand alone as statements."""
    return {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
