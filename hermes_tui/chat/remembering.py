"""Remembering: what a conversation tells its memory providers, and what it asks of them.

Providers are told and never waited for; those that are asked have their time, and the plan never depends on their answer.
"""

from __future__ import annotations

from hermes_tui.chat.events import NoticeRaised
from hermes_tui.chat.standing import Standing
from hermes_tui.context.engine import Plan
from hermes_tui.memory.memory import Memory
from hermes_tui.memory.notes import NotesProvider


class Remembering:
    """MEMORY's place in one conversation.

    Attributes:
        memory: the providers.
    """

    def __init__(self, standing: Standing, memory: Memory) -> None:
        self._at, self.memory = standing, memory
        self._session = ""
        self._noted: tuple[Plan, str] | None = None

    def began(self) -> None:
        """The conversation was opened."""
        self._session = self._at.session.id
        self.memory.on_session_start(self._session, self._tell)

    def moved(self) -> None:
        """The conversation may go on in another session: a compression split it, here or in another process."""
        session, parent = self._at.session.id, self._session
        if session != parent:
            self._session = session
            self.memory.on_session_switch(session, parent, self._tell)

    def turn_ended(self) -> None:
        """A turn ended: tell what was said in it."""
        self.moved()
        said = [entry.message for entry in self._at.view.entries if entry.message is not None]
        asked = next((n for n in range(len(said) - 1, -1, -1) if said[n].is_real_user), None)
        if asked is not None:
            self.memory.on_turn(self._session, said[asked:], self._tell)

    async def before(self, plan: Plan) -> str:
        """What the summariser should know of what PLAN summarises; asked once for a plan."""
        if self._noted is None or self._noted[0] is not plan:
            self._noted = (plan, await self.memory.on_pre_compress(plan.sources, self._tell))
        return self._noted[1]

    def show(self, plan: Plan) -> None:
        """PLAN is carried out without a summariser: providers see what goes, and nobody waits for them."""
        if self._noted is None or self._noted[0] is not plan:
            self._noted = (plan, "")
            self.memory.show(plan.sources, self._tell)

    @property
    def notes_by_model(self) -> NotesProvider | None:
        """Who keeps the notes that the summarising model finds; None where it is not to look for any."""
        return self.memory.provider(NotesProvider) if self._at.settings.memory.model else None

    async def ended(self, seconds: float) -> None:
        """The conversation was closed: let providers hear what they were told, for at most SECONDS."""
        self.memory.on_session_end(self._session, self._tell)
        await self.memory.settled(seconds)

    def _tell(self, sentence: str, severity: str) -> None:
        self._at.publish(NoticeRaised(sentence, severity))
