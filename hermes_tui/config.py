"""Reading and writing the config: a TOML file, HERMES_TUI_SECTION__KEY variables over it, the command line over both.

The types are in `settings.py`; like that module this one is not imported before the first frame.
"""

from __future__ import annotations

import os
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import EnvSettingsSource, SettingsError

from hermes_tui.config_errors import ConfigError, sentence_for
from hermes_tui.settings import ENVIRONMENT_PREFIX, Effective, ModelOverrides, Section, Settings, Source

__all__ = ["ConfigError", "Effective", "Settings", "default_config_text", "load_settings", "save_setting"]


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
        raise ConfigError(sentence_for(error, sources, path)) from None
    settings._sources.update(sources)
    return settings


def default_config_text() -> str:
    """The config file as the app writes it: every key with its docstring, commented out, so that defaults stay defaults."""
    import tomlkit

    document = tomlkit.document()
    document.add(tomlkit.comment("Hermes TUI. A key that is commented out has the value shown; take the # away to change it."))
    document.add(
        tomlkit.comment("Every key can be set in the environment too, as HERMES_TUI_SECTION__KEY, which wins over this file.")
    )
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


def write_default_config(path: Path) -> None:
    """Put the settings file where a person will look for it, every key explained and commented out, if none is there yet.

    A place that cannot be written is left alone: the defaults hold without a file.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(default_config_text())


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
            inside = bare.partition("#")[0].strip() == f"[{section}]"
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
        raise ConfigError(sentence_for(error, dict.fromkeys(_leaves(table), "config"), path)) from None


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
        lists = 'a list is written as ["one", "two"]'
        raise ConfigError(f"The environment's settings cannot be read: {error}; {lists}.") from None
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
        "summary_max_tokens": 6_000,
        "threshold_percent": 0.40,
        "model_path": "~/models/other.gguf",
        "directory": "~/projects",
        "thinking": "low",
    }
    if key == "price":
        return "price = { input = 2.0, output = 10.0, cache_read = 0.2, cache_write = 2.5 }"
    default = field.get_default(call_default_factory=True)
    default = default if default is not None else examples[key]
    return f"{key} = {tomlkit.item(default).as_string()}"
