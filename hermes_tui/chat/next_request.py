"""The next request of a chain that nobody has open: what would be sent for an empty composer, without asking any server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hermes_tui.chat.facts import facts_of
from hermes_tui.chat.limits import budgets_in_force
from hermes_tui.chat.requests import Parameters, parameters_for
from hermes_tui.context.engine import Count
from hermes_tui.context.rendering import open_loop_edited
from hermes_tui.context.tokens import Meter

if TYPE_CHECKING:
    from hermes_tui.config import Settings
    from hermes_tui.llm.choose import ChatProvider
    from hermes_tui.store.store import Store


def next_body(
    store: Store, chain: str, settings: Settings, provider: ChatProvider, count: Count, *, generation: int | None = None
) -> dict[str, Any]:
    """The body of the next request of CHAIN, or of what the next one would have been at the end of GENERATION.

    It is sent as the last one to the same model was: reserved output, thinking and extras. A chain that was never sent, or
    whose open tool loop was edited since, takes them from SETTINGS, PROVIDER and the price list.

    Raises:
        SessionNotFound: there is no such chain, or it never had that generation.
        ImpossibleBudget: the window is too small for the chain's system prompt and tools.
    """
    view = store.view(chain, generation=generation)
    last = next((r for r in reversed(store.requests(chain)) if r.purpose == "turn" and r.model == view.model), None)
    if last is not None and not open_loop_edited(view):
        return Parameters.read(last.parameters).body(view)
    base_url = getattr(provider, "base_url", None)
    facts = facts_of(view.model, settings, (), kind=provider.name, base_url=base_url)
    state, meter = store.load_state(chain), Meter(count)
    floor = meter.scaled_floor(view, state)
    budgets = budgets_in_force(settings, facts, state, floor, embedded=provider.name == "embedded")
    return parameters_for(view, budgets, settings, facts.info, provider).body(view)
