"""What a whole answer says beside its text, an SDK's object or a dict."""

from __future__ import annotations

from typing import Any

from llmphases.adapters.contract import Facts, fields_of, text_or_none
from llmphases.adapters.reported import reported_of
from llmphases.adapters.usage import usage_of
from llmphases.observers import never_raises


@never_raises
def facts_of(answer: Any) -> Facts | None:
    """Usage, model and the server's times; None if it says none of these."""
    usage, reported = usage_of(answer), reported_of(answer)
    said = fields_of(answer)
    model = next(
        (text for name in _MODEL_NAMES if (text := text_or_none(said.get(name))) is not None), None
    )
    if usage is None and reported is None and model is None:
        return None
    return Facts(usage=usage, response_model=model, reported=reported)


_MODEL_NAMES = ("model", "model_version", "modelVersion")
