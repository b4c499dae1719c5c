"""What is wrong with a config, in one sentence: where, which key, what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from hermes_tui.settings import ENVIRONMENT_PREFIX, ModelOverrides, Section, Settings, Source


class ConfigError(Exception):
    """The settings cannot be used; the message is one sentence that names the file, the key and what is allowed."""


def sentence_for(error: ValidationError, sources: Mapping[str, Source], path: Path | None) -> str:
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
    if get_origin(field.annotation) is list:
        return 'a list of texts in quotes, such as ["one", "two"]'
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
