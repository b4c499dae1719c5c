"""Thinking: which parameter a request carries, and the rest of a turn whose open tool loop was edited.

Current models bind each thinking block to the prefix before it; the view already leaves out every block that no longer holds.
Here it is decided whether the model may think at all in this request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hermes_tui.llm.provider import ModelInfo

ADAPTIVE: Final[Mapping[str, Any]] = {"type": "adaptive"}
DROP_BLOCK: Final[Mapping[str, Any]] = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
BINDING_BETA: Final = "thinking-binding-controls-2026-08-01"
"""The beta that `DROP_BLOCK` needs (anthropic SDK 2.15, AnthropicBetaParam)."""
SUMMARY_EXTRA: Final = 4_096
"""Tokens added to a summary's max_tokens where the model cannot be kept from thinking."""

_ADAPTS: Final = re.compile(r"^claude-(?:fable|mythos|opus|sonnet|haiku)-(?:[5-9]|4-[6-9])(?:[-@]|$)")
"""Claude models that take adaptive thinking: generation 5, and 4.6 on."""
_ALWAYS: Final = re.compile(r"^claude-(?:(?:fable|mythos)-5|opus-5-5)")
"""Models that always think (compression.md, table of models)."""
_NOT_DISABLED: Final = re.compile(r"^claude-(?:sonnet|haiku)-5-5")
"""Models that refuse "disabled" and take "between_tools" for off."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """What a request carries so that its model thinks as much as it should.

    Attributes:
        parameter: the API's thinking parameter, None to leave it out.
        extras: further keys of the body (the effort).
        betas: beta names the request needs.
        thinks: the model may think, so that its max_tokens must have room for it.
    """

    parameter: Mapping[str, Any] | None = None
    extras: Mapping[str, Any] = field(default_factory=dict)
    betas: tuple[str, ...] = ()
    thinks: bool = False


def adapts(info: ModelInfo) -> bool:
    """Whether the model is known to take adaptive thinking: by what the provider says of it, else by its name."""
    return "adaptive" in info.thinking_types if info.thinking_types else bool(_ADAPTS.match(info.id))


def least_thinking(info: ModelInfo) -> Thinking:
    """The least thinking that the model allows."""
    if not adapts(info) and info.thinking in (None, "none"):
        return Thinking()
    least = info.thinking
    if least is None:
        least = "always" if _ALWAYS.match(info.id) else "between_tools" if _NOT_DISABLED.match(info.id) else "off"
    if least == "off":
        return Thinking({"type": "disabled"})
    if least == "between_tools":
        return Thinking({"type": "between_tools"})
    if least == "none":
        return Thinking()
    return Thinking(extras={"output_config": {"effort": info.efforts[0]}} if info.efforts else {}, thinks=True)


def thinking_for(setting: str, info: ModelInfo, *, max_tokens: int, loop_edited: bool) -> Thinking:
    """What a request to the model carries.

    Args:
        setting: "auto" (adaptive where the model is known to take it), "off", or an effort: "low", "medium", "high", "max".
        info: what is known of the model.
        max_tokens: what the request reserves for its reply; older models get a share of it for thinking.
        loop_edited: an edit lies before or in the open tool loop; the rest of the turn goes without thinking, and where the
            model always thinks, blocks that no longer hold are dropped by the server instead of refused.
    """
    if setting == "off" or loop_edited:
        least = least_thinking(info)
        if loop_edited and least.thinks:
            return Thinking(DROP_BLOCK, least.extras, (BINDING_BETA,), thinks=True)
        return least
    if setting != "auto":
        from hermes_tui.llm.models import thinking_body

        asked = thinking_body(setting, info, max_tokens)
        if asked:
            return Thinking(asked.pop("thinking", None), asked, thinks=True)
    return Thinking(ADAPTIVE, thinks=True) if adapts(info) else Thinking()
