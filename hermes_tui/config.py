"""The settings: one typed tree, read from a TOML file and HERMES_TUI_SECTION__KEY variables, every field told by its docstring.

The docstring under a field is the comment above its key in the config file that the app writes. pydantic is imported with
this module, so nothing imports it before the first frame (`appearance.py` reads what that frame needs).
"""

from __future__ import annotations

import difflib
import os
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

ENVIRONMENT_PREFIX: Final = "HERMES_TUI_"
Source = Literal["default", "config", "environment", "command line"]


class ConfigError(Exception):
    """The settings cannot be used; the message is one sentence that names the file, the key and what is allowed."""


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
    """How much the model thinks before it answers: "auto" leaves it to the model, "off" is its least."""


class ProviderSection(Section):
    """Where the model is. Keys never stand here: see ANTHROPIC_API_KEY, HERMES_TUI_API_KEY, the keyring."""

    kind: Literal["auto", "anthropic", "compatible", "embedded"] = "auto"
    """Who answers. "auto": a compatible server where base_url is set, Anthropic where there is a key, else the embedded model."""
    base_url: str | None = None
    """Address of a server that speaks the Anthropic Messages API, without /v1 (Ollama, llama.cpp, LM Studio, vLLM, a gateway)."""
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
    """The context engine: "compressor", or one that a package registers under hermes_tui.context_engines."""
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
    engine: Literal["model", "deterministic"] = "model"
    """ "deterministic" never asks a model: the summary is the ledger and sentences taken from the messages."""


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
    price: PriceOverride | None = None
    """Dollars for a million tokens: { input = 2.0, output = 10.0 }."""


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
        section = {"threshold_percent": "context", "threshold_tokens": "context"}.get(key, "model")
        return Effective(getattr(getattr(self, section), key, None), self.source_of(f"{section}.{key}"))


def load_settings(
    path: Path | None = None,
    *,
    overrides: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """The settings of the file at PATH (a missing file is an empty one), the environment over it, OVERRIDES over both.

    OVERRIDES are what the command line said, by dotted key; a None says nothing.

    Raises:
        ConfigError: one sentence; nothing is half-applied.
    """
    layers: list[tuple[Source, Mapping[str, Any]]] = [("config", _read_table(path))]
    layers.append(("environment", _read_environment(environment)))
    layers.append(("command line", _nested({k: v for k, v in (overrides or {}).items() if v is not None})))
    merged: dict[str, Any] = {}
    sources: dict[str, Source] = {}
    for source, table in layers:
        _merge(merged, table)
        for key in _leaves(table):
            sources[key] = source
    try:
        settings = Settings(**merged)
    except ValidationError as error:
        raise ConfigError(_sentence(error, sources, path)) from None
    settings._sources.update(sources)
    return settings


def default_config_text() -> str:
    """The config file as the app writes it: every key with its docstring, commented out, so that defaults stay defaults."""
    import tomlkit

    document = tomlkit.document()
    document.add(tomlkit.comment("Hermes TUI. A key that is commented out has the value shown; take the # away to change it."))
    document.add(tomlkit.comment("Every key can be set as HERMES_TUI_SECTION__KEY in the environment too, which wins over this file."))
    for name, field in Settings.model_fields.items():
        section = field.annotation
        if not (isinstance(section, type) and issubclass(section, Section)):
            continue
        table = tomlkit.table()
        for line in (section.__doc__ or "").splitlines():
            table.add(tomlkit.comment(line.strip()))
        table.add(tomlkit.nl())
        for key, inner in section.model_fields.items():
            for line in _lines(inner):
                table.add(tomlkit.comment(line))
            table.add(tomlkit.comment(_assignment(key, inner)))
        table.add(tomlkit.nl())
        document.add(name, table)
    document.add(tomlkit.comment((ModelOverrides.__doc__ or "").strip()))
    document.add(tomlkit.comment('[models."claude-sonnet-5-5"]'))
    for key, inner in ModelOverrides.model_fields.items():
        for line in _lines(inner):
            document.add(tomlkit.comment(line))
        document.add(tomlkit.comment(_assignment(key, inner)))
    return tomlkit.dumps(document)


def save_setting(path: Path, dotted_key: str, value: Any) -> None:
    """Set DOTTED_KEY in the file at PATH, which keeps its comments and its order; None takes the key away.

    A file that does not exist is written from `default_config_text` first. A key that stands there commented out takes
    that line's place. The new text is checked before it replaces the file, in one rename.

    Raises:
        ConfigError: an unknown key, a value that is not allowed, a file that cannot be read or written.
    """
    text = _read_text(path) if path.exists() else default_config_text()
    section, _, key = dotted_key.rpartition(".")
    changed = _with_key(text, section, key, value, path)
    _check(changed, path)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = path.resolve()  # a config file that is a link stays one
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(changed)
        os.replace(temporary, target)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}.") from None


def _with_key(text: str, section: str, key: str, value: Any, path: Path) -> str:
    """TEXT with KEY of SECTION set to VALUE (None: taken away)."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.") from None
    names = _split(section)
    table: Any = document
    for name in names:
        table = table.get(name, {}) if hasattr(table, "get") else {}
    if value is None:
        if key in table:
            table.remove(key)
        return tomlkit.dumps(document)
    if key not in table and section:
        line = f"{key} = {tomlkit.item(value).as_string()}"
        replaced = _uncomment(text, section, key, line)
        if replaced is not None:
            return replaced
    table = document
    for name in names:
        if name not in table:
            table[name] = tomlkit.table()
        table = table[name]
    table[key] = value
    return tomlkit.dumps(document)


def _uncomment(text: str, section: str, key: str, line: str) -> str | None:
    """TEXT with LINE in place of KEY's commented-out line in SECTION; None where there is no such line."""
    lines = text.splitlines(keepends=True)
    inside = False
    for n, old in enumerate(lines):
        bare = old.strip()
        if bare.startswith("["):
            inside = bare == f"[{section}]"
        elif inside and bare.lstrip("# ").partition("=")[0].strip() == key and bare.startswith("#") and "=" in bare:
            lines[n] = line + "\n"
            return "".join(lines)
    return None


def _check(text: str, path: Path) -> None:
    """Refuse TEXT unless it is a config file that loads."""
    try:
        table = tomllib.loads(text)
        Settings(**table)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} would not be valid TOML any more: {error}.") from None
    except ValidationError as error:
        raise ConfigError(_sentence(error, dict.fromkeys(_leaves(table), "config"), path)) from None


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not a text file in UTF-8.") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.") from None


def _read_table(path: Path | None) -> Mapping[str, Any]:
    if path is None or not path.exists():
        return {}
    try:
        return tomllib.loads(_read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.") from None


def _read_environment(environment: Mapping[str, str] | None) -> Mapping[str, Any]:
    """What HERMES_TUI_SECTION__KEY variables say."""
    kept = dict(os.environ) if environment is None else dict(environment)
    # A bare HERMES_TUI_MODEL would be parsed as the JSON of a whole section; only keys of sections are variables.
    wanted = {k: v for k, v in kept.items() if k.upper().startswith(ENVIRONMENT_PREFIX) and "__" in k}
    source = EnvSettingsSource(Settings)
    source.env_vars = {k.lower(): v for k, v in wanted.items()}
    try:
        found: Mapping[str, Any] = source()
    except SettingsError as error:
        raise ConfigError(f"The environment's settings cannot be read: {error}.") from None
    return found


def _merge(into: dict[str, Any], table: Mapping[str, Any]) -> None:
    for key, value in table.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        elif isinstance(value, Mapping):
            into[key] = {}
            _merge(into[key], value)
        else:
            into[key] = value


def _leaves(table: Mapping[str, Any], prefix: str = "") -> list[str]:
    found = []
    for key, value in table.items():
        if isinstance(value, Mapping):
            found += _leaves(value, f"{prefix}{key}.")
        found.append(f"{prefix}{key}")
    return found


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for dotted, value in flat.items():
        *names, key = _split(dotted)
        inner = table
        for name in names:
            inner = inner.setdefault(name, {})
        inner[key] = value
    return table


def _split(dotted: str) -> list[str]:
    """The names of a dotted key; a model's id may hold dots itself, so "models." takes all but the last part as one."""
    if dotted.startswith("models."):
        rest = dotted.removeprefix("models.")
        known = rest.rpartition(".")
        if known[2] in ModelOverrides.model_fields and known[0]:
            return ["models", known[0], known[2]]
        return ["models", rest]
    return dotted.split(".") if dotted else []


def _lines(field: FieldInfo) -> list[str]:
    return [line.strip() for line in (field.description or "").splitlines() if line.strip()]


def _assignment(key: str, field: FieldInfo) -> str:
    """The line that shows KEY's default, or an example where there is none."""
    import tomlkit

    examples = {
        "max_tokens": 8192,
        "window": 200_000,
        "base_url": "http://localhost:11434",
        "threshold_tokens": 150_000,
        "threshold_percent": 0.40,
        "model_path": "~/models/other.gguf",
        "directory": "~/projects",
        "thinking": "low",
    }
    if key == "price":
        return "price = { input = 2.0, output = 10.0, cache_read = 0.2, cache_write = 2.5 }"
    default = field.default if field.default is not None else examples[key]
    return f"{key} = {tomlkit.item(default).as_string()}"


def _sentence(error: ValidationError, sources: Mapping[str, Source], path: Path | None) -> str:
    """The first problem of ERROR in one sentence: where, which key, what is allowed."""
    problem = error.errors(include_url=False)[0]
    names = [str(part) for part in problem["loc"]]
    field, names = _field_at(names)
    dotted = ".".join(names)
    source = sources.get(dotted, "config")
    if source == "environment":
        where = f"The variable {ENVIRONMENT_PREFIX}{'__'.join(names).upper()}"
    elif source == "command line":
        where = f"The option for {dotted}"
    else:
        where = f"{path or 'The config'}: {dotted}"
    if problem["type"] == "extra_forbidden":
        near = difflib.get_close_matches(names[-1], _siblings(names), 1)
        hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(_siblings(names)) or 'nothing'}."
        return f"{where} is not a setting; {hint}"
    if problem["type"] == "missing":
        return f"{where} is missing."
    if problem["type"] == "value_error":
        return f"{where} {problem['msg'].removeprefix('Value error, ')}."
    allowed = _allowed(field) if field is not None else problem["msg"][:1].lower() + problem["msg"][1:]
    shown = repr(problem["input"])
    return f"{where} is {shown if len(shown) <= 60 else shown[:57] + '…'}, but must be {allowed}."


def _field_at(names: list[str]) -> tuple[FieldInfo | None, list[str]]:
    """The field that NAMES lead to, and the names up to it (pydantic adds the member of a union)."""
    section: type[BaseModel] = Settings
    field: FieldInfo | None = None
    for n, name in enumerate(names):
        if name not in section.model_fields:
            return (field if n and field is not None else None), names[: n + 1] if field is None or _inner(field) else names[:n]
        field = section.model_fields[name]
        if name == "models" and section is Settings and len(names) > n + 1:
            inner, rest = _field_in(ModelOverrides, names[n + 2 :])
            return inner, names[: n + 2] + rest
        section = _inner(field) or section
        if not _inner(field):
            return field, names[: n + 1]
    return field, names


def _field_in(section: type[BaseModel], names: list[str]) -> tuple[FieldInfo | None, list[str]]:
    if not names or names[0] not in section.model_fields:
        return None, names[:1]
    field = section.model_fields[names[0]]
    inner = _inner(field)
    if inner and len(names) > 1:
        found, rest = _field_in(inner, names[1:])
        return found, [names[0], *rest]
    return field, names[:1]


def _inner(field: FieldInfo) -> type[BaseModel] | None:
    """The section that FIELD holds, if it holds one."""
    for kind in (field.annotation, *get_args(field.annotation)):
        if isinstance(kind, type) and issubclass(kind, Section):
            return kind
    return None


def _siblings(names: list[str]) -> list[str]:
    section: type[BaseModel] = Settings
    for n, name in enumerate(names[:-1]):
        if name == "models" and n == 0:
            section = ModelOverrides
        elif name in section.model_fields:
            section = _inner(section.model_fields[name]) or section
    return list(section.model_fields)


def _allowed(field: FieldInfo) -> str:
    """What FIELD allows, in words."""
    kinds = [k for k in (field.annotation, *get_args(field.annotation)) if k is not type(None)]
    literal = next((k for k in kinds if get_origin(k) is Literal), None)
    if literal is not None:
        return "one of " + ", ".join(f'"{word}"' for word in get_args(literal))
    low, high, above = (getattr(next((m for m in field.metadata if hasattr(m, b)), None), b, None) for b in ("ge", "le", "gt"))
    if bool in kinds:
        return "true or false"
    if int in kinds or float in kinds:
        noun = "a whole number" if float not in kinds else "a number"
        if low is not None and high is not None:
            return f"{noun} from {low} to {high}"
        if above is not None:
            return f"{noun} above {above}" + (f" and at most {high}" if high is not None else "")
        return f"{noun}, at least {low}" if low is not None else noun
    if _inner(field):
        return "a table"
    return "a text in quotes, not empty" if str in kinds else "of another type"
