"""Everything a conversation needs, loaded after the first frame and off the loop: settings, database, provider, tools."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_tui.memory.memory import Memory
from hermes_tui.paths import Paths

if TYPE_CHECKING:
    from hermes_tui.config import Settings
    from hermes_tui.context.engine import Count
    from hermes_tui.llm.choose import ChatProvider, Choice
    from hermes_tui.llm.keys import Keys
    from hermes_tui.llm.provider import ModelInfo
    from hermes_tui.store.store import Store
    from hermes_tui.tools.tools import ToolRunner


@dataclass(frozen=True, slots=True)
class Room:
    """What was loaded.

    Attributes:
        model: the model that a new conversation talks to.
        infos: what the provider says of its models, as far as it was asked.
        directory: the folder that tools are confined to.
        summary_provider: who summarises; None for the provider that answers.
        memory: what remembers across conversations.
    """

    paths: Paths
    settings: Settings
    store: Store
    keys: Keys
    choice: Choice
    count: Count
    tools: ToolRunner | None
    directory: Path
    model: str
    infos: tuple[ModelInfo, ...] = ()
    summary_provider: ChatProvider | None = None
    memory: Memory = field(default_factory=Memory)

    @property
    def embedded(self) -> bool:
        """Whether the embedded model answers."""
        return self.choice.provider.name == "embedded"

    @property
    def server(self) -> str:
        """Whom a key would be for."""
        from hermes_tui.llm.keys import ANTHROPIC_ACCOUNT

        return self.choice.base_url or ANTHROPIC_ACCOUNT

    def answers(self) -> str:
        """Who answers, for the status line."""
        return self.choice.provider.describe()

    def hint(self) -> str:
        """What to do about who answers."""
        return "no key yet, /key adds one" if self.embedded else ""


def import_conversation() -> None:
    """Import what a conversation and its drawing are made of, so that none of it is imported on the loop. Takes a second."""
    import hermes_tui.chat.conversation
    import hermes_tui.llm.models
    import hermes_tui.tui.blank
    import hermes_tui.tui.bridge
    import hermes_tui.tui.pages
    import hermes_tui.tui.surveys  # noqa: F401 - imported to be there


def load_room(paths: Paths) -> Room:
    """Load everything. Slow (imports of a second or two); call it off the loop.

    Raises:
        ConfigError, StoreError, NoProvider, OSError: in words.
    """
    from hermes_tui.config import load_settings, write_default_config
    from hermes_tui.context import redaction
    from hermes_tui.llm.choose import choose
    from hermes_tui.llm.keys import Keys
    from hermes_tui.llm.tokenizer import load_counter
    from hermes_tui.log import start_logging
    from hermes_tui.memory.registry import memory_of
    from hermes_tui.paths import make_private_folder
    from hermes_tui.store.store import Store

    settings = load_settings(paths.config)
    store = Store.open(paths.database)
    try:
        make_private_folder(paths.data)
        write_default_config(paths.config)
        redaction.load()
        start_logging(paths.log, clean=redaction.redact)
        keys = Keys(paths.key_file)
        choice = choose(settings, keys)
        directory = Path(settings.tools.directory).expanduser().resolve() if settings.tools.directory else Path.cwd()
        return Room(
            paths=paths,
            settings=settings,
            store=store,
            keys=keys,
            choice=choice,
            count=load_counter(),
            tools=_tools(settings, directory),
            directory=directory,
            model=choice.model,
            memory=memory_of(settings.memory.providers, store.notes),
        )
    except BaseException:
        store.close()
        raise


def _tools(settings: Settings, directory: Path) -> ToolRunner | None:
    from hermes_tui.tools.files import FILE_TOOLS
    from hermes_tui.tools.tools import Tools

    return Tools(FILE_TOOLS, directory) if settings.tools.enabled else None


def chosen_anew(room: Room) -> Room:
    """ROOM with the settings read and the provider chosen anew, after a key was added. Slow: call it off the loop.

    Raises:
        NoProvider, ConfigError: in words.
    """
    from hermes_tui.config import load_settings
    from hermes_tui.llm.choose import choose

    settings = load_settings(room.paths.config)
    choice = choose(settings, room.keys)
    return replace(room, settings=settings, choice=choice, model=choice.model, infos=())
