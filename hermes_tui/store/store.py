"""The store: everything that is remembered, behind one class. Each method is one short transaction.

Synchronous, and safe to call from any thread; the conversation calls it off the UI loop. Every method raises `StoreError`, with
a sentence for people, where the database fails: nothing is half written then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hermes_tui.context.editing import Edit
from hermes_tui.context.engine import Compression, EngineState, Refusal, Usage
from hermes_tui.context.messages import Block, Message, Origin, Role
from hermes_tui.context.undoing import Row
from hermes_tui.context.view import ContextView
from hermes_tui.store import contexts, deletion, drafts, edits, forks, lineage, requests, search, states, transcript
from hermes_tui.store.database import PATIENCE, Database
from hermes_tui.store.notes import Notes
from hermes_tui.store.records import (
    Applied,
    ChainRecord,
    EditRecord,
    Hit,
    Moved,
    Purpose,
    Relation,
    RequestRecord,
    SessionRecord,
)
from hermes_tui.store.repair import repair


class Store:
    """An open database. Use `open` to get one.

    Attributes:
        path: the database file.
        notes: what is remembered of the user.
        recovered: chains that got the message of a reply which was streaming when its process died, found on opening.
    """

    def __init__(self, database: Database, recovered: tuple[str, ...]) -> None:
        self._database = database
        self.path = database.path
        self.notes = Notes(database)
        self.recovered = recovered

    @classmethod
    def open(cls, path: Path, *, patience: float = PATIENCE) -> Store:
        """Open the database at PATH: made 0600 if there is none, migrated if it is behind, repaired if something was cut short.

        PATIENCE is how many seconds any write waits for another process.

        Raises:
            DatabaseDamaged, DatabaseForeign, DatabaseNewer, DirectoryUnwritable, DatabaseBusy: its bytes are unchanged then.
        """
        database = Database(path, patience=patience)
        try:
            return cls(database, repair(database))
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    # Chains and sessions

    def create_chain(
        self,
        *,
        title: str,
        model: str,
        system: str = "",
        tools: Sequence[Mapping[str, Any]] = (),
        parameters: Mapping[str, Any] | None = None,
        relation: Relation = "root",
        parent_session: str | None = None,
        cwd: str | None = None,
    ) -> SessionRecord:
        """Start a conversation; its id is ``.chain`` of the first session that is returned."""
        with self._database.write() as connection:
            return lineage.create_chain(
                connection,
                title=title,
                model=model,
                system=system,
                tools=tools,
                parameters=parameters or {},
                relation=relation,
                parent=parent_session,
                cwd=cwd,
            )

    def sessions(self, chain: str) -> tuple[SessionRecord, ...]:
        """The sessions of CHAIN by ordinal, the tip last; empty where there is no such chain."""
        with self._database.read() as connection:
            return lineage.sessions_of(connection, chain)

    def chains(self) -> tuple[ChainRecord, ...]:
        """All conversations, the one that changed last first."""
        with self._database.read() as connection:
            return lineage.chains(connection)

    def resolve(self, ending: str) -> SessionRecord:
        """The session whose id ends with ENDING (six characters or more, in any case); a chain's id is its first session's.

        Raises:
            SessionNotFound, SessionAmbiguous: in words.
        """
        with self._database.read() as connection:
            return lineage.resolve(connection, ending)

    def tip(self, session_or_chain: str) -> SessionRecord:
        """The session where the conversation goes on, that a session (whole id, or ending) or chain belongs to.

        Raises:
            SessionNotFound, SessionAmbiguous: in words.
        """
        with self._database.read() as connection:
            return lineage.tip_of(connection, lineage.resolve(connection, session_or_chain).chain)

    def fork(
        self, chain: str, *, generation: int | None = None, last_message: str | None = None, title: str | None = None
    ) -> SessionRecord:
        """Start a chain that goes on from CHAIN as it is, or as it was at GENERATION when LAST_MESSAGE was the newest.

        Only references are written: the entries up to that point, dead ones too, and the edits, so that an undo reaches back
        before the fork. Without a TITLE it has that of CHAIN.

        Raises:
            SessionNotFound: there is no such chain, or it never had that generation.
            MessageNotFound: the chain has no such message, or it was not the newest in that generation.
        """
        with self._database.write(durable=True) as connection:
            return forks.fork(connection, chain, generation=generation, last_message=last_message, title=title)

    def delete_chain(self, session_or_chain: str) -> bool:
        """Delete the whole chain that a session (its whole id) or chain belongs to; False where it is gone already.

        Every message and summary that an entry of another chain names stays.
        """
        with self._database.write(durable=True) as connection:
            return deletion.delete_chain(connection, lineage.chain_of(connection, session_or_chain))

    def set_title(self, chain: str, title: str) -> None:
        """Name the conversation. Nothing else ever changes a title."""
        with self._database.write() as connection:
            lineage.set_title(connection, chain, title)

    def set_model(self, chain: str, model: str, parameters: Mapping[str, Any] | None = None) -> SessionRecord:
        """Let the conversation go on with MODEL (and, where given, with other PARAMETERS); returns the tip."""
        with self._database.write() as connection:
            return lineage.set_model(connection, chain, model, parameters)

    # Messages

    def append(
        self,
        chain: str,
        *,
        role: Role,
        content: Iterable[Block],
        origin: Origin,
        model: str | None = None,
        request: str | None = None,
        tokens: int | None = None,
    ) -> tuple[Message, SessionRecord]:
        """Say a message in CHAIN, in its tip as it is now, which is returned too: adopt it where it is another one.

        Raises:
            Unpaired: calls before it wait for their results, or it holds results that no open call asked for.
        """
        with self._database.write() as connection:
            return transcript.append(
                connection,
                chain,
                role=role,
                content=content,
                origin=origin,
                model=model,
                request=request,
                tokens=tokens,
            )

    def messages(
        self, chain: str, *, before: int | None = None, limit: int | None = None, origin: Origin | None = None
    ) -> tuple[Message, ...]:
        """The transcript of CHAIN across all its sessions, ascending; the LIMIT newest from ORIGIN and before a sequence."""
        with self._database.read() as connection:
            return transcript.transcript(connection, chain, before=before, limit=limit, origin=origin)

    def message(self, identifier: str) -> Message:
        """The message of that id, as it was said.

        Raises:
            MessageNotFound: there is none.
        """
        with self._database.read() as connection:
            return transcript.message(connection, identifier)

    def messages_ending(self, chain: str, ending: str, *, limit: int = 20) -> tuple[Message, ...]:
        """The messages of CHAIN, in all its sessions, whose ids end with ENDING, in any case."""
        with self._database.read() as connection:
            return transcript.ending(connection, chain, ending, limit)

    def last_reply_owner(self, chain: str) -> tuple[str, float] | None:
        """The process that asked for the newest message of CHAIN, and when, if that is a reply of which it is known."""
        with self._database.read() as connection:
            return transcript.last_reply_owner(connection, chain)

    def answer_open_calls(self, chain: str) -> Message | None:
        """Give calls that never got a result one that says so ("interrupted; outcome unknown"); None where none is open."""
        with self._database.write() as connection:
            return transcript.answer_open_calls(connection, chain)

    def search(self, query: str, *, chain: str | None = None, limit: int = 20) -> tuple[Hit, ...]:
        """The messages that hold all words of QUERY, in all conversations or in one; each once, the best first."""
        with self._database.read() as connection:
            return search.search(connection, query, chain=chain, limit=limit)

    # Drafts

    def save_draft(
        self,
        chain: str,
        request: str,
        content: Iterable[Block],
        *,
        model: str | None = None,
        streaming: int | None = None,
    ) -> None:
        """Keep the reply to REQUEST as far as it has come; STREAMING is the index of the block that is not whole yet."""
        with self._database.write() as connection:
            drafts.save(connection, chain, request, content, model, streaming)

    def finish_draft(
        self,
        chain: str,
        request: str,
        content: Iterable[Block],
        model: str | None,
        *,
        streaming: int | None = None,
    ) -> tuple[Message, SessionRecord] | None:
        """Turn the reply to REQUEST into its message, whole or cut off (then without its partial thinking and calls).

        None where nothing is left to keep; the draft is gone in any case. Twice for one request is one message.
        """
        with self._database.write() as connection:
            return drafts.finish(connection, chain, request, content, model, streaming)

    def drop_draft(self, request: str) -> None:
        """Forget the reply to REQUEST."""
        with self._database.write() as connection:
            drafts.drop(connection, request)

    def recover(self) -> tuple[str, ...]:
        """Turn the drafts of dead processes into messages, as on opening; returns the chains that got one."""
        return repair(self._database)

    # Contexts

    def view(
        self, chain: str, *, generation: int | None = None, last_message: str | None = None, model: str | None = None
    ) -> ContextView:
        """The context of CHAIN now, or as it was at GENERATION when LAST_MESSAGE was the newest; for MODEL or the session's.

        Raises:
            SessionNotFound: there is no such chain, or it never had that generation.
            MessageNotFound: the chain has no such message.
        """
        with self._database.read() as connection:
            return contexts.view(connection, chain, generation=generation, last_message=last_message, model=model)

    def apply(
        self,
        compression: Compression,
        *,
        trigger: str,
        duration_ms: float = 0.0,
        cost: float | None = None,
        split: bool,
        parameters: Mapping[str, Any] | None = None,
        state: EngineState | None = None,
        summary_tokens: int | None = None,
    ) -> Applied | Moved:
        """Carry COMPRESSION out in one transaction, on the disk when this returns; `Moved`, nothing written, if it moved.

        With SPLIT the session ends and its child starts, with everything the parent had (and PARAMETERS, where given). Messages
        said since the plan stay as they are. STATE is the engine's, stored with it, SUMMARY_TOKENS the size of the new summary.

        Raises:
            PlanUnsound: it names entries that are not in the context.
        """
        with self._database.write(durable=True) as connection:
            return contexts.apply(
                connection,
                compression,
                trigger=trigger,
                duration_ms=duration_ms,
                cost=cost,
                split=split,
                parameters=parameters,
                state=state,
                summary_tokens=summary_tokens,
            )

    def edit(self, edit: Edit, *, state: EngineState | None = None) -> Applied | Moved:
        """Carry an undo, redo, pin or drop out in one transaction; `Moved`, nothing written, if the chain has moved on since.

        Messages said since it was worked out stay as they are. STATE is the engine's, stored with it.

        Raises:
            PlanUnsound: it names entries that are not in the context, or an edit that is not there.
        """
        with self._database.write(durable=True) as connection:
            return contexts.edit(connection, edit, state=state)

    def history(self, chain: str) -> tuple[Row, ...]:
        """Every row that CHAIN's entries ever had, alive and dead: what an undo is worked out from.

        Raises:
            SessionNotFound: there is no such chain.
        """
        with self._database.read() as connection:
            return contexts.history(connection, chain)

    def record_noop(
        self,
        chain: str,
        refusal: Refusal,
        trigger: str,
        *,
        kind: str | None = None,
        tokens: int = 0,
        duration_ms: float = 0.0,
        cost: float | None = None,
        failures: tuple[str, ...] = (),
        focus: str | None = None,
    ) -> None:
        """Write down that a compression was tried and did nothing, and why."""
        with self._database.write() as connection:
            edits.add(
                connection,
                chain=chain,
                session=lineage.tip_of(connection, chain).id,
                generation=None,
                kind=kind,
                trigger=trigger,
                first_position=None,
                after_sequence=None,
                tokens_before=tokens,
                tokens_after=tokens,
                counts={},
                duration_ms=duration_ms,
                cost=cost,
                outcome=refusal.kind,
                reason=refusal.reason,
                failures=failures,
                focus=focus,
            )

    def edits(self, chain: str) -> tuple[EditRecord, ...]:
        """Every edit of CHAIN in order, and the attempts that did nothing (their generation is None)."""
        with self._database.read() as connection:
            return edits.of_chain(connection, chain)

    # Requests

    def begin_request(
        self,
        *,
        chain: str,
        session: str,
        generation: int,
        last_message: str | None,
        purpose: Purpose,
        model: str,
        parameters: Mapping[str, Any],
        renderer: int | None,
        body: Mapping[str, Any],
        estimate: int | None = None,
    ) -> str:
        """Write a request down before it is sent, one row an attempt; returns its id."""
        with self._database.write() as connection:
            return requests.begin(
                connection,
                chain=chain,
                session=session,
                generation=generation,
                last_message=last_message,
                purpose=purpose,
                model=model,
                parameters=parameters,
                renderer=renderer,
                body=body,
                estimate=estimate,
            )

    def finish_request(
        self,
        identifier: str,
        *,
        usage: Usage | None,
        cost: float | None,
        status: str,
        error: str | None = None,
        estimate: int | None = None,
    ) -> None:
        """Write down how a request ended: "done", "failed" or "cancelled", and what it took."""
        with self._database.write() as connection:
            requests.finish(connection, identifier, usage=usage, cost=cost, status=status, error=error, estimate=estimate)

    def requests(self, chain: str) -> tuple[RequestRecord, ...]:
        """Every request of CHAIN in the order they were sent."""
        with self._database.read() as connection:
            return requests.of_chain(connection, chain)

    def body(self, request: str) -> dict[str, Any]:
        """The body of a summary or title request as it was sent; a turn's is rendered again from `view`.

        Raises:
            RequestNotFound: there is no such request, or it was a turn.
        """
        with self._database.read() as connection:
            return requests.body(connection, request)

    # What engines remember

    def load_state(self, chain: str) -> EngineState:
        """What the engine remembers of CHAIN; blank at first."""
        with self._database.read() as connection:
            return states.load(connection, chain)

    def save_state(self, chain: str, state: EngineState) -> None:
        """Remember STATE for CHAIN."""
        with self._database.write() as connection:
            states.save(connection, chain, state)

    def learned_scales(self) -> dict[str, float]:
        """Real tokens per estimated token by model, as measured last in any conversation."""
        with self._database.read() as connection:
            return states.learned_scales(connection)
