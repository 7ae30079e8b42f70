"""What a stream's chunks are told apart by: the contract of every chunk shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from llmphases.calls import Usage
from llmphases.recorder.reported import ReportedTimes

# Plain integers and no enum: one of them is returned for every chunk of every stream.
NOT_A_TOKEN = 0
"""Role-only, empty, ping, usage-only and structural chunks."""
ANSWER = 1
"""Text, a refusal, audio, or a tool call. Equal to True, so that `bool` can be a `kind`."""
REASONING = 2
"""What the model thinks before it answers."""

ODD = (AttributeError, LookupError, TypeError, ValueError, RuntimeError)
"""What reading a chunk that is not as documented may raise; met where the chunk is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a chunk says besides its tokens; None where it says nothing.

    Later facts of the same stream *replace* earlier ones, field by field, since servers repeat
    cumulative counts: join them with `then`, never with `+`.
    """

    usage: Usage | None = None
    response_model: str | None = None
    provider: str | None = None
    """As `gen_ai.provider.name` has it, where the chunk leaves no doubt: an OpenAI client talks to
    everyone, so its chunks name none."""
    reported: ReportedTimes | None = None
    usage_is_increment: bool = False
    """`usage` is what came on top since the chunk before (LangChain), and is to be added."""

    def then(self, later: Facts | None) -> Facts:
        """These facts, after `later` ones of the same stream have been heard."""
        if later is None:
            return self
        said = {f.name: value for f in fields(later) if (value := getattr(later, f.name))}
        if self.usage is not None and later.usage is not None:
            join = _added if later.usage_is_increment else _replaced
            said["usage"] = join(self.usage, later.usage)
        return replace(self, **said)


def _added(earlier: Usage, later: Usage) -> Usage:
    return earlier + later


def _replaced(earlier: Usage, later: Usage) -> Usage:
    given = ((f.name, getattr(later, f.name)) for f in fields(later))
    said = {name: value for name, value in given if value is not None}
    if _repeats_the_input_without_its_cache(earlier, later):
        del said["input_tokens"]
    return replace(earlier, **said)


def _repeats_the_input_without_its_cache(earlier: Usage, later: Usage) -> bool:
    # Anthropic's input leaves out the cache: an event that says the input again and not the
    # cached tokens that one before it named does not take those back.
    if later.cache_read_input_tokens is not None or later.cache_write_input_tokens is not None:
        return False
    cached = (earlier.cache_read_input_tokens or 0) + (earlier.cache_write_input_tokens or 0)
    return later.input_tokens is not None and later.input_tokens + cached == earlier.input_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkShape:
    """One kind of chunk, and how it is read. Pure: no clock, no state, no SDK imported."""

    name: str
    matches: Callable[[Any], bool]
    """Whether a chunk has this shape: by its type or the keys of a dict, no code of its own run."""
    kind: Callable[[Any], int]
    """`NOT_A_TOKEN`, `ANSWER` or `REASONING`; on the path of every chunk."""
    facts: Callable[[Any], Facts | None]
    """Usage, model and reported times, if the chunk has any."""


def said_by(provider: str, facts: Callable[[Any], Facts | None]) -> Callable[[Any], Facts | None]:
    """The same facts, from an SDK that talks to one provider only."""

    def named_facts(chunk: Any) -> Facts | None:
        found = facts(chunk)
        return None if found is None else replace(found, provider=provider)

    return named_facts


# As descriptors, since a metaclass may answer the ordinary attributes with code of its own.
_mro_of: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
_module_of: Callable[[type], object] = type.__dict__["__module__"].__get__
_name_of: Callable[[type], str] = type.__dict__["__name__"].__get__


def named(*patterns: str) -> Callable[[Any], bool]:
    """A `matches` for objects whose class, or a base of it, is one of `patterns`.

    A pattern is a top-level package, a dot and a class name, with one `*` for anything:
    `"anthropic.*Event"`.
    """
    # Prepared here: the first chunk of a program waits for whatever is left for later.
    exact = frozenset(pattern for pattern in patterns if "*" not in pattern)
    around = tuple(tuple(pattern.split("*", 1)) for pattern in patterns if "*" in pattern)

    def matches(chunk: Any) -> bool:
        return any(
            name in exact or any(name.startswith(a) and name.endswith(z) for a, z in around)
            for name in map(_full_name, _mro_of(type(chunk)))
        )

    return matches


def _full_name(kind: type) -> str:
    try:
        module = _module_of(kind)
    except AttributeError:  # a class made without any module
        return ""
    return f"{module.partition('.')[0]}.{_name_of(kind)}" if isinstance(module, str) else ""


def is_dict(chunk: Any) -> bool:
    """Whether a chunk is a dict, asked of its type alone."""
    return issubclass(type(chunk), dict)


def read(source: Any, name: str) -> Any:
    """`name` of an object, or of a dict without ever adding to it; None if there is none."""
    if isinstance(source, dict):
        return source.get(name)
    return None if source is None else getattr(source, name, None)


def fields_of(source: Any) -> dict[str, Any]:
    """All that an object or dict holds: asking an SDK's object for what it lacks takes 1 us each.

    Empty for None, numbers, text and objects without a `__dict__`.
    """
    if isinstance(source, dict):
        return source
    held = getattr(source, "__dict__", None)
    if not isinstance(held, dict):
        return {}
    extra = getattr(source, "__pydantic_extra__", None)
    return {**held, **extra} if isinstance(extra, dict) and extra else held


def items(value: Any) -> list[Any] | tuple[Any, ...]:
    """A list as it is; anything else has no items."""
    return value if isinstance(value, (list, tuple)) else ()


def has_text(value: Any) -> bool:
    """Whether a value is text, and not the empty one."""
    return isinstance(value, str) and value != ""


def text_or_none(value: Any) -> str | None:
    """A text that says something; None for all else."""
    return value if isinstance(value, str) and value else None
