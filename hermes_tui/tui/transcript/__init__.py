"""The transcript: a conversation as one line-API widget that stays quick at any length."""

from hermes_tui.tui.transcript.blocks import Block, Divider, Notice, Queued, ReplySaid, Thought, ToolCard, UserSaid
from hermes_tui.tui.transcript.transcript import Transcript

__all__ = ["Block", "Divider", "Notice", "Queued", "ReplySaid", "Thought", "ToolCard", "Transcript", "UserSaid"]
