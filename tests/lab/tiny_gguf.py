"""Writes a llama-architecture model with random weights: nothing to download, sizes are knobs.

Its text is junk and never ends by itself; its timings are real. The tokenizer is nearly one token
per character.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SPECIAL = ["<unk>", "<s>", "</s>"]
_WORDS = (
    "the a to of and in is it that was for on are with as be this have from or one had by but not "
    "what all were we when your can said there use an each which she do how their if"
)
_SPACE = "\u2581"
_UNKNOWN, _CONTROL, _NORMAL, _BYTE = 2, 3, 1, 6
_SPREAD = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How large the model is, and with that how slow."""

    embedding: int = 384
    heads: int = 6
    layers: int = 6
    feed_forward: int = 1024
    context: int = 32768
    seed: int = 0

    @property
    def file_name(self) -> str:
        """A name that says it all, for the cache."""
        return (
            f"llama-e{self.embedding}-h{self.heads}-l{self.layers}-f{self.feed_forward}"
            f"-c{self.context}-s{self.seed}.gguf"
        )


TINY = Shape(embedding=64, heads=4, layers=2, feed_forward=128)
"""0.5 MB; about 0.02 ms a prompt token, 0.2 ms a token."""
MID = Shape()
"""43 MB; about 1 ms a prompt token, 4 ms a token."""


def model_file(shape: Shape, folder: Path) -> Path:
    """The model of that shape, written into the folder unless it is there already."""
    path = folder / shape.file_name
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        _write(shape, unfinished)
        unfinished.replace(path)
    return path


def _write(shape: Shape, path: Path) -> None:
    import gguf

    writer = gguf.GGUFWriter(str(path), "llama")
    vocabulary_size = _add_vocabulary(writer)
    _add_shape(writer, shape, vocabulary_size)
    _add_weights(writer, shape, vocabulary_size)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_shape(writer: Any, shape: Shape, vocabulary_size: int) -> None:
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.embedding)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(shape.embedding // shape.heads)
    writer.add_file_type(0)
    writer.add_vocab_size(vocabulary_size)


def _add_vocabulary(writer: Any) -> int:
    words = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    words += [_SPACE, *(_SPACE + word for word in _WORDS.split())]
    plain = _byte_tokens()
    writer.add_tokenizer_model("llama")
    writer.add_token_list(plain + words)
    writer.add_token_scores([0.0] * len(plain) + [-float(n + 1) for n in range(len(words))])
    writer.add_token_types([_UNKNOWN, _CONTROL, _CONTROL] + [_BYTE] * 256 + [_NORMAL] * len(words))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    return len(plain) + len(words)


def _byte_tokens() -> list[str]:
    return _SPECIAL + [f"<0x{byte:02X}>" for byte in range(256)]


def _add_weights(writer: Any, shape: Shape, vocabulary_size: int) -> None:
    import numpy as np

    random = np.random.default_rng(shape.seed)

    def weights(*size: int) -> Any:
        return random.standard_normal(size, dtype=np.float32) * np.float32(_SPREAD)

    wide, narrow = shape.embedding, shape.feed_forward
    writer.add_tensor("token_embd.weight", weights(vocabulary_size, wide))
    writer.add_tensor("output_norm.weight", np.ones(wide, np.float32))
    output = weights(vocabulary_size, wide)
    output[: len(_byte_tokens())] = 0  # control and byte tokens never win: the text stays ASCII
    writer.add_tensor("output.weight", output)
    for layer in range(shape.layers):
        block = f"blk.{layer}."
        writer.add_tensor(f"{block}attn_norm.weight", np.ones(wide, np.float32))
        writer.add_tensor(f"{block}ffn_norm.weight", np.ones(wide, np.float32))
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(f"{block}{name}.weight", weights(wide, wide))
        writer.add_tensor(f"{block}ffn_gate.weight", weights(narrow, wide))
        writer.add_tensor(f"{block}ffn_up.weight", weights(narrow, wide))
        writer.add_tensor(f"{block}ffn_down.weight", weights(wide, narrow))
