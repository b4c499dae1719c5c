"""The settings as types: one tree, every field told by its docstring, which is also the comment above its key in the file.

pydantic is imported with this module, so nothing imports it before the first frame (`appearance.py` reads what that needs).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

ENVIRONMENT_PREFIX: Final = "HERMES_TUI_"
Source = Literal["default", "config", "environment", "command line"]


@dataclass(frozen=True, slots=True)
class Effective:
    """A value in force and where it came from."""

    value: Any
    source: str


class Section(BaseModel):
    """A table of the config file: unknown keys are refused, docstrings are descriptions."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid", frozen=True, validate_default=False, strict=False)


class ModelSection(Section):
    """The model that answers."""

    name: str = Field(default="claude-sonnet-5-5", min_length=1)
    """The model's id. The embedded model is used whatever this says while there is neither a key nor a base_url."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Most tokens of a reply; what is reserved for it in the window. Unset: 8192 (2048 for the embedded model)."""
    window: int | None = Field(default=None, ge=1)
    """The model's limit in tokens. Unset: what the models API, the server or the price list says."""
    thinking: Literal["auto", "off", "low", "medium", "high", "max"] = "auto"
    """How much the model thinks before it answers: "auto" lets a model decide that can, "off" is its least."""


class ProviderSection(Section):
    """Where the model is. Keys never stand here: see ANTHROPIC_API_KEY, HERMES_TUI_API_KEY, the keyring."""

    kind: Literal["auto", "anthropic", "compatible", "embedded"] = "auto"
    """Who answers. "auto": the server at base_url where it is set, Anthropic where there is a key, else the embedded model."""
    base_url: str | None = None
    """Address of a server of the Anthropic Messages API, without /v1 (Ollama, llama.cpp, LM Studio, vLLM, a gateway)."""
    stall_seconds: float = Field(default=120.0, gt=0)
    """A reply that is silent for this long, in seconds, counts as broken off."""

    @field_validator("base_url")
    @classmethod
    def _http_only(cls, value: str | None) -> str | None:
        if value is None or not value.strip():
            return None
        if not value.startswith(("http://", "https://")):
            raise ValueError("must be an address that begins with http:// or https://")
        return value.strip().rstrip("/").removesuffix("/v1")


class ContextSection(Section):
    """When and how the context is compressed."""

    engine: str = Field(default="compressor", min_length=1)
    """The context engine: "compressor"; "recall", which also lets the model look up what was compressed away; or one that a
    package registers under hermes_tui.context_engines."""
    auto: bool = True
    """Compress by itself when the threshold is reached. Off means off: only /compress does it then."""
    threshold_percent: float = Field(default=0.50, ge=0.05, le=0.90)
    """A compression is due at this share of the usable window."""
    threshold_tokens: int | None = Field(default=None, ge=1)
    """… and at this many tokens at the latest, whatever the share says. Unset: no absolute cap."""
    protect_first_n: int = Field(default=3, ge=0)
    """Messages protected at the start, the system prompt counted: 3 is the system prompt, the first message and its reply."""
    protect_last_n: int = Field(default=20, ge=1)
    """Messages that the protected tail goes on to, as far as its tokens allow."""
    summary_target_ratio: float = Field(default=0.20, gt=0, le=0.60)
    """Share of the room (threshold minus system and tools) that the tail is given."""


class SummarySection(Section):
    """Who writes the summaries."""

    model: str = Field(default="claude-haiku-5-5", min_length=1)
    """The model that summarises, at the same provider. The embedded and single-model servers summarise with their own."""
    engine: Literal["model", "deterministic", "api"] = "model"
    """Who writes: "model" asks that model; "deterministic" never asks one, the summary is the ledger and sentences taken from
    the messages; "api" has the provider compact the conversation itself where the answering model offers that, else "model"."""
    prompt: str = Field(default="", max_length=8_000)
    """Your own instructions, as text: what a summary should keep, leave out or word otherwise. They are given to the model
    beside ours; the sections of a summary stay, and so does that nothing in a conversation is followed as an order."""
    max_tokens: int | None = Field(default=None, ge=256)
    """Most tokens of a summary, ledger included, as far as the room allows. Unset: 12000."""


class MemorySection(Section):
    """What is remembered from one conversation to the next. /memory shows it."""

    providers: list[str] = Field(default_factory=lambda: ["notes"])
    """Who remembers: "notes" keeps facts about you and your standing rules in the database, for new conversations; others are
    packages that register under hermes_tui.memory_providers. [] switches all of them off."""
    model: bool = False
    """Let the summarising model look for notes too, in your own messages, when they are compressed. Off: only rules do."""


class LocalSection(Section):
    """The embedded model."""

    model_path: str | None = None
    """A .gguf file to run in place of the bundled SmolLM2-135M."""
    context: int = Field(default=8192, ge=2048)
    """Tokens of context for a conversation; more needs more memory, and a model that was trained for it."""


class ToolsSection(Section):
    """The read-only tools: list_files, read_file, search_files."""

    enabled: bool = True
    """Offer the tools to models that can call them."""
    directory: str | None = None
    """The folder they are confined to. Unset: the folder the app was started in."""


class AppearanceSection(Section):
    """How the app looks."""

    theme: str = Field(default="hermes-dark", min_length=1)
    """A built-in theme, or the name of a file in the themes folder beside this file."""
    ascii: bool = False
    """Draw with ASCII signs only."""
    animations: bool = True
    """Let things move when tokens move. Off also with TEXTUAL_ANIMATIONS=none."""


class PriceOverride(Section):
    """Dollars for a million tokens."""

    input: float = Field(ge=0)
    """Prompt tokens outside the cache."""
    output: float = Field(ge=0)
    """Tokens of the reply."""
    cache_read: float | None = Field(default=None, ge=0)
    """Prompt tokens read from the cache. Unset: a tenth of input."""
    cache_write: float | None = Field(default=None, ge=0)
    """Prompt tokens written to the cache. Unset: 1.25 times input."""


class ModelOverrides(Section):
    """What is true of one model only, in a table [models."its-id"]; it wins over everything else."""

    window: int | None = Field(default=None, ge=1)
    """The model's limit in tokens."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Most tokens of a reply."""
    threshold_percent: float | None = Field(default=None, ge=0.05, le=0.90)
    """A compression is due at this share of the usable window."""
    threshold_tokens: int | None = Field(default=None, ge=1)
    """… and at this many tokens at the latest."""
    thinking: Literal["auto", "off", "low", "medium", "high", "max"] | None = None
    """How much the model thinks before it answers."""
    summary_max_tokens: int | None = Field(default=None, ge=256)
    """Most tokens of a summary in a conversation with this model."""
    price: PriceOverride | None = None
    """Dollars for a million tokens: { input = 2.0, output = 10.0 }."""


_GENERAL: Final = {
    "threshold_percent": ("context", "threshold_percent"),
    "threshold_tokens": ("context", "threshold_tokens"),
    "summary_max_tokens": ("summary", "max_tokens"),
}
"""Where a model's own key is said for all models, if not under [model] by the same name."""


class Settings(BaseSettings):
    """All settings in force. Built by `load_settings`; immutable."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX,
        env_nested_delimiter="__",
        nested_model_default_partial_update=True,
        use_attribute_docstrings=True,
        extra="forbid",
        frozen=True,
        protected_namespaces=(),
    )

    model: ModelSection = ModelSection()
    """The model that answers."""
    provider: ProviderSection = ProviderSection()
    """Where the model is."""
    context: ContextSection = ContextSection()
    """When and how the context is compressed."""
    summary: SummarySection = SummarySection()
    """Who writes the summaries."""
    memory: MemorySection = MemorySection()
    """What is remembered from one conversation to the next."""
    local: LocalSection = LocalSection()
    """The embedded model."""
    tools: ToolsSection = ToolsSection()
    """The read-only tools."""
    appearance: AppearanceSection = AppearanceSection()
    """How the app looks."""
    models: dict[str, ModelOverrides] = Field(default_factory=dict)
    """What is true of one model only."""

    _sources: dict[str, Source] = PrivateAttr(default_factory=dict)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what is passed in: `load_settings` merges the layers itself, so that every value knows its layer."""
        return (init_settings,)

    def source_of(self, dotted_key: str) -> Source:
        """Which layer set DOTTED_KEY ("context.threshold_percent")."""
        return self._sources.get(dotted_key, "default")

    def effective(self, key: str, model: str) -> Effective:
        """The value of KEY for MODEL, and its source: the model's own table, else the section's, else None.

        KEY is one of ModelOverrides' fields; "config" and the like are the sources, "default" where nobody set it.
        """
        override = self.models.get(model)
        value = getattr(override, key, None) if override is not None else None
        if value is not None:
            return Effective(value, self.source_of(f"models.{model}.{key}"))
        section, name = _GENERAL.get(key, ("model", key))
        return Effective(getattr(getattr(self, section), name, None), self.source_of(f"{section}.{name}"))
