"""Moments in, frozen calls out."""

from llmphases.recorder.recorder import CallRecorder

__all__ = ["CallRecorder"]
