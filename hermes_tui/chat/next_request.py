"""The body of a conversation's next request for an empty composer, from the store alone: nothing is asked or opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hermes_tui.chat.facts import facts_of
from hermes_tui.chat.limits import budgets_in_force
from hermes_tui.chat.requests import Parameters, parameters_for
from hermes_tui.context.engine import Count
from hermes_tui.context.rendering import open_loop_edited
from hermes_tui.context.tokens import Meter
from hermes_tui.context.view import ContextView

if TYPE_CHECKING:
    from hermes_tui.config import Settings
    from hermes_tui.llm.choose import ChatProvider
    from hermes_tui.store.store import Store


def next_body(store: Store, chain: str, settings: Settings, provider: ChatProvider, count: Count) -> dict[str, Any]:
    """What would be posted in CHAIN next, before anything more is said.

    What a provider told of its model is remembered in the parameters of the requests to it; SETTINGS and PROVIDER are asked
    only where none was sent yet.

    Raises:
        ImpossibleBudget: the window leaves no room, with the numbers.
    """
    view = store.view(chain)
    parameters = _last_parameters(store, view)
    if parameters is None:
        facts = facts_of(view.model, settings, (), kind=provider.name, base_url=getattr(provider, "base_url", None))
        state, meter = store.load_state(chain), Meter(count)
        floor = round(meter.scale(view, state) * meter.floor(view))
        budgets = budgets_in_force(settings, facts, state, floor, embedded=provider.name == "embedded")
        parameters = parameters_for(view, budgets, settings, facts.info, provider)
    return parameters.body(view)


def _last_parameters(store: Store, view: ContextView) -> Parameters | None:
    """The parameters of the newest turn's request to the same model in the same state of thinking, None without one."""
    edited = open_loop_edited(view)
    for record in reversed(store.requests(view.chain)):
        if record.purpose == "turn" and record.model == view.model:
            then = store.view(view.chain, generation=record.generation, last_message=record.last_message, model=record.model)
            if open_loop_edited(then) == edited:
                return Parameters.read(record.parameters)
    return None
