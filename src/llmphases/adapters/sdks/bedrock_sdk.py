"""Amazon Bedrock by boto3: `converse` and `converse_stream`.

Seen in botocore 1.35 to 1.44. The methods of its clients are made at run time; all of them call the
one that is hooked into here. What `invoke_model` answers is bytes that only the program reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmphases.adapters.contract import read
from llmphases.capture.clients.contract import Method, Sdk


def _operation(client: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    return "chat" if args[0] in ("Converse", "ConverseStream") else None


def _model(client: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> object:
    return read(args[1], "modelId")


def _provider(client: Any) -> str:
    return "aws.bedrock"


BEDROCK = Sdk(
    name="bedrock",
    package="botocore",
    distribution="botocore",
    since=(1, 35),
    before=(2,),
    methods=(
        Method(
            where="botocore.client:BaseClient._make_api_call",
            operation=_operation,
            model=_model,
            provider=_provider,
            stream_at="stream",
        ),
    ),
)
