"""What a transcript tells its parents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from hermes_tui.tui.transcript.view import BlocksView


@dataclass
class TranscriptMessage(Message, namespace="transcript"):
    """Anything a transcript says."""

    transcript: BlocksView

    @property
    def control(self) -> BlocksView:
        """The transcript that says it."""
        return self.transcript


@dataclass
class EarlierWanted(TranscriptMessage, namespace="transcript"):
    """The person is near the top and there are older messages: answer with ``prepend``."""


@dataclass
class FollowChanged(TranscriptMessage, namespace="transcript"):
    """The view began or ceased to follow the end."""

    following: bool


@dataclass
class BlockSelected(TranscriptMessage, namespace="transcript"):
    """The cursor moved to a block."""

    id: str


@dataclass
class DividerChosen(TranscriptMessage, namespace="transcript"):
    """A divider was clicked, or chosen with Enter."""

    id: str


@dataclass
class CardToggled(TranscriptMessage, namespace="transcript"):
    """A card was folded or unfolded."""

    id: str
    folded: bool


@dataclass
class LinkChosen(TranscriptMessage, namespace="transcript"):
    """A link was clicked. The address is a model's word: whoever opens it decides whether to."""

    url: str
