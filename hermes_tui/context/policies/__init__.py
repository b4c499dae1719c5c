"""Policies to compare an engine with: what simpler ways of managing a context do to the same conversation.

Each is a context engine like any other, so that the lab runs all of them through the same conversation. They are not on offer
for chatting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from hermes_tui.context.compressor import CompressorOptions
from hermes_tui.context.engine import Count
from hermes_tui.context.policies.hermes_like import HermesLike
from hermes_tui.context.policies.policy import Policy
from hermes_tui.context.policies.truncating import TruncateOldest
from hermes_tui.context.policies.uncompressed import Uncompressed

POLICIES: Final[Mapping[str, Callable[[Count, Callable[[], str], CompressorOptions], Policy]]] = {
    policy.name: policy for policy in (Uncompressed, TruncateOldest, HermesLike)
}
"""The policies by name, each as a factory like those of engines."""

__all__ = ["POLICIES", "HermesLike", "Policy", "TruncateOldest", "Uncompressed"]
