"""Engine states: one frozen value a chain, so that conversations never mix and a restart forgets nothing."""

from __future__ import annotations

import time

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert

from hermes_tui.context.engine import EngineState
from hermes_tui.store import codec
from hermes_tui.store.tables import engine_states


def load(connection: Connection, chain: str) -> EngineState:
    """What the engine remembers of CHAIN; a blank state where it remembers nothing."""
    found = connection.execute(select(engine_states.c.state).where(engine_states.c.chain == chain)).scalar()
    return EngineState() if found is None else codec.decode(EngineState, codec.loads(found))


def save(connection: Connection, chain: str, state: EngineState) -> None:
    """Remember STATE for CHAIN."""
    row = {"chain": chain, "state": codec.dumps(state), "updated": time.time()}
    query = insert(engine_states).values(row)
    connection.execute(
        query.on_conflict_do_update(index_elements=["chain"], set_={"state": row["state"], "updated": row["updated"]})
    )


def learned_scales(connection: Connection) -> dict[str, float]:
    """Real tokens per estimated token by model, from whichever chain measured it last: what a new chain starts with."""
    scales: dict[str, float] = {}
    for state in connection.execute(select(engine_states.c.state).order_by(engine_states.c.updated)).scalars():
        scales |= codec.loads(state).get("scales", {})
    return scales
