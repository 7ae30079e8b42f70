"""See where the time of an LLM call goes: what is paid per call, and what is paid per token."""

__version__ = "0.1.0"
