"""What was said about a call, as opposed to measured."""

from __future__ import annotations

from llmphases.calls import AttributeValue, ProcessUse, Scalar, Usage


class Facts:
    """Model, usage, cache and so on; None until somebody says."""

    __slots__ = (
        "attributes", "batch_size", "cache_result", "children", "first_token_rule", "own",
        "process", "provider", "reported", "reported_trusted", "request_model", "response_model",
        "stream", "units", "usage",
    )  # fmt: skip

    def __init__(self, provider: str | None, request_model: str | None) -> None:
        self.provider = provider
        self.request_model = request_model
        self.response_model: str | None = None
        self.usage: Usage | None = None
        self.own: Usage | None = None
        """What the function's own output says of it: maybe the same once more."""
        self.units: int | None = None
        self.batch_size: int | None = None
        self.cache_result: str | None = None
        self.first_token_rule: str | None = None
        self.children = 0
        """How many child processes it has started."""
        self.process: ProcessUse | None = None
        """What the only one of them has used."""
        self.stream = False
        self.reported: dict[str, Scalar] = {}
        self.reported_trusted: bool | None = None
        self.attributes: dict[str, AttributeValue] = {}

    def add_usage(self, usage: Usage) -> None:
        """Usage is summed over the requests of a call."""
        if usage:
            self.usage = usage if self.usage is None else self.usage + usage

    def add_own_usage(self, usage: Usage) -> None:
        """Usage that stands in what the function itself gives out."""
        if usage:
            self.own = usage if self.own is None else self.own + usage

    def settle(self, *, is_repeated: bool) -> None:
        """At the end: what the output says counts, unless it repeats what is told already."""
        own, self.own = self.own, None
        if own is not None and not is_repeated:
            self.add_usage(own)

    @property
    def cached(self) -> str | None:
        """`hit` or `miss`: of the program's cache, if it said so; else of the provider's."""
        usage = self.usage
        if self.cache_result is not None or usage is None:
            return self.cache_result
        if usage.cache_read_input_tokens:
            return "hit"
        # None read, though some were to be kept. 0 alone says nothing: most requests ask for none.
        missed = usage.cache_read_input_tokens == 0 and usage.cache_write_input_tokens
        return "miss" if missed else None

    def trust(self, *, trusted: bool) -> None:
        """One report that does not fit makes all of a call's reports doubtful."""
        self.reported_trusted = (
            trusted if self.reported_trusted is None else (self.reported_trusted and trusted)
        )
