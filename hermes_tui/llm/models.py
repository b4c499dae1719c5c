"""What is known of a model: window, longest reply, thinking and price, each number with its source.

The user's own value wins; then the Models API, else the server's own word (llama.cpp's ``meta.n_ctx``, vLLM's
``max_model_len``), else `genai-prices`, else a small table of families, else a cautious guess that says so.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hermes_tui.context.budgets import Sourced
from hermes_tui.context.engine import Usage
from hermes_tui.llm.provider import ModelInfo

if TYPE_CHECKING:
    from hermes_tui.config import Settings

FAMILIES: Final[tuple[tuple[str, int, int, float, float], ...]] = (
    # (what the id begins with, window, longest reply, $/M in, $/M out); published in December 2026
    ("claude-fable-5", 1_000_000, 128_000, 10.0, 50.0),
    ("claude-mythos-5", 1_000_000, 128_000, 10.0, 50.0),
    ("claude-opus-5", 1_000_000, 128_000, 5.0, 25.0),
    ("claude-sonnet-5", 1_000_000, 128_000, 2.0, 10.0),
    ("claude-haiku-5", 1_000_000, 128_000, 0.5, 2.5),
    ("claude-opus-4", 200_000, 64_000, 5.0, 25.0),
    ("claude-sonnet-4", 200_000, 64_000, 3.0, 15.0),
    ("claude-haiku-4", 200_000, 64_000, 1.0, 5.0),
    ("claude-", 200_000, 8_192, 3.0, 15.0),
)
EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
THINKING_TYPES: Final = ("adaptive", "enabled", "between_tools", "disabled")
GUESSED_WINDOW: Final = 8_192
"""For a model that nobody knows: local servers start with windows of 4 to 8 K, and too early beats too late."""
CACHE_READ, CACHE_WRITE = 0.1, 1.25
"""Multiples of the input price, as documented for five-minute caches."""


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens, and who says so."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    source: str

    def cost(self, usage: Usage) -> float:
        """Dollars for USAGE."""
        prompt = usage.input * self.input + usage.cache_read * self.cache_read + usage.cache_write * self.cache_write
        return (prompt + usage.output * self.output) / 1_000_000


FREE: Final = Price(0.0, 0.0, 0.0, 0.0, "runs on this machine")


def model_info(entry: Mapping[str, Any]) -> ModelInfo:
    """A model from an entry of /v1/models, Anthropic's or a compatible server's."""
    raw_meta = entry.get("meta")
    meta: Mapping[str, Any] = raw_meta if isinstance(raw_meta, Mapping) else {}
    window, source = _whole(entry.get("max_input_tokens")), "models API"
    if window is None:
        found = ((key, _whole(table.get(key))) for table, key in (
            (meta, "n_ctx"), (entry, "max_model_len"), (entry, "loaded_context_length"), (entry, "context_length"),
            (entry, "max_context_length"), (meta, "n_ctx_train"),
        ))  # fmt: skip
        window, source = next(((value, f"server's {key}") for key, value in found if value), (None, "models API"))
    raw = entry.get("capabilities")
    capabilities: Mapping[str, Any] = raw if isinstance(raw, Mapping) else {}
    types, thinking = _thinking_of(capabilities.get("thinking"))
    effort = capabilities.get("effort")
    efforts = tuple(e for e in EFFORTS if isinstance(effort, Mapping) and _supported(effort.get(e)))
    return ModelInfo(
        id=str(entry["id"]),
        name=str(entry.get("display_name") or ""),
        window=window,
        max_output=_whole(entry.get("max_tokens")),
        thinking=thinking,
        source=source,
        thinking_types=types,
        efforts=efforts,
        compaction=_supported((capabilities.get("compaction") or {}).get("summarize")),
    )


def window_of(
    model: str, settings: Settings, infos: Iterable[ModelInfo] = (), *, kind: str = "anthropic", main: bool = True
) -> Sourced:
    """The window of MODEL in tokens.

    INFOS is what the provider said of its models, KIND the provider's name. MAIN: the model is the one that answers, so
    ``model.window`` is meant for it; for another (the summariser) only its own table counts.
    """
    return _number("window", model, settings, infos, kind, main) or Sourced(GUESSED_WINDOW, "a guess: nobody says")


def max_output_of(
    model: str, settings: Settings, infos: Iterable[ModelInfo] = (), *, kind: str = "anthropic", main: bool = True
) -> Sourced | None:
    """What to send as max_tokens where the user set it, or the model's own limit where that is known; else None."""
    return _number("max_tokens", model, settings, infos, kind, main)


def price_of(
    model: str, settings: Settings | None = None, *, kind: str = "anthropic", base_url: str | None = None
) -> Price | None:
    """What MODEL costs up to its first price step; None where nobody knows (a server of one's own)."""
    override = settings.models.get(model) if settings is not None else None
    if override is not None and override.price is not None:
        own = override.price
        read = own.input * CACHE_READ if own.cache_read is None else own.cache_read
        write = own.input * CACHE_WRITE if own.cache_write is None else own.cache_write
        return Price(own.input, own.output, read, write, settings.source_of(f"models.{model}.price") if settings else "config")
    if kind in ("embedded", "recorded"):
        return FREE
    found = _listed(model, kind, base_url)
    if found is not None:
        first, out = _base(found, "input_mtok"), _base(found, "output_mtok")
        if first is not None and out is not None:
            cached, writing = _base(found, "cache_read_mtok"), _base(found, "cache_write_mtok")
            return Price(
                first,
                out,
                first * CACHE_READ if cached is None else cached,
                first * CACHE_WRITE if writing is None else writing,
                "genai-prices",
            )
    family = _family(model) if kind == "anthropic" else None
    return Price(family[3], family[4], family[3] * CACHE_READ, family[3] * CACHE_WRITE, "table") if family else None


def price_step_of(model: str, *, kind: str = "anthropic", base_url: str | None = None) -> Sourced | None:
    """The prompt size from which MODEL costs more for the whole request; None where there is no such step."""
    found = _listed(model, kind, base_url)
    tiers = getattr(getattr(found, "input_mtok", None), "tiers", None)
    return Sourced(min(tier.start for tier in tiers), "genai-prices") if tiers else None


def cost_of(
    usage: Usage, model: str, settings: Settings | None = None, *, kind: str = "anthropic", base_url: str | None = None
) -> tuple[float, str] | None:
    """(dollars, source) of USAGE on MODEL, price steps and what was used beside it counted; None without a known price."""
    price = price_of(model, settings, kind=kind, base_url=base_url)
    if price is None:
        return None
    return sum(_cost(each, model, price, kind, base_url) for each in usage.billed), price.source


def _cost(usage: Usage, model: str, price: Price, kind: str, base_url: str | None) -> float:
    """Dollars of USAGE without what was used beside it."""
    if price.source == "genai-prices":
        import genai_prices

        counted = genai_prices.Usage(
            input_tokens=usage.prompt,
            output_tokens=usage.output,
            cache_read_tokens=usage.cache_read,
            cache_write_tokens=usage.cache_write,
        )
        where: dict[str, Any] = {"provider_id": "anthropic"} if kind == "anthropic" else {"provider_api_url": base_url}
        try:
            return float(genai_prices.calc_price(counted, model, **where).total_price)
        except (LookupError, ValueError):
            pass
    return price.cost(usage)


def nearest_kin(model: str, infos: Sequence[ModelInfo]) -> str | None:
    """The living model nearest to MODEL: itself, the same line (the nearest version, newer before older), else the likest name.

    None where nothing is on offer.
    """
    ids = [info.id for info in infos]
    if not ids or model in ids:
        return model if ids else None
    dated = [i for i in ids if i.startswith(f"{model}-") and i[len(model) + 1 :].isdigit()]
    if dated:
        return max(dated)
    line, version = _line(model)
    kin = [(i, _line(i)[1]) for i in ids if line and _line(i)[0] == line]
    if kin:
        return min(kin, key=lambda k: (abs(k[1] - version), -k[1]))[0]
    likest = difflib.get_close_matches(model, ids, 1, 0.0)
    return likest[0] if likest else ids[0]


def thinking_body(effort: str, info: ModelInfo, max_tokens: int) -> dict[str, Any]:
    """What a body gets where the setting ``model.thinking`` is an EFFORT, "low" to "max".

    It asks for adaptive thinking with that effort, an older model for a budget of MAX_TOKENS' share; nothing where the model's
    ways are not known.
    """
    if info.thinking in (None, "none"):
        return {}
    types = info.thinking_types
    if "adaptive" in types:
        return {"thinking": {"type": "adaptive"}, **({"output_config": {"effort": effort}} if effort in info.efforts else {})}
    budget = int(max_tokens * {"low": 0.25, "medium": 0.5, "high": 0.75, "max": 0.9}.get(effort, 0.5))
    return {"thinking": {"type": "enabled", "budget_tokens": budget}} if "enabled" in types and budget >= 1024 else {}


def _number(key: str, model: str, settings: Settings, infos: Iterable[ModelInfo], kind: str, main: bool) -> Sourced | None:
    override = settings.models.get(model)
    own = getattr(override, key, None) if override is not None else None
    if own is not None:
        return Sourced(own, settings.source_of(f"models.{model}.{key}"))
    if main and getattr(settings.model, key) is not None:
        return Sourced(getattr(settings.model, key), settings.source_of(f"model.{key}"))
    said = next((info for info in infos if info.id == model), None)
    value = getattr(said, "window" if key == "window" else "max_output", None)
    if said is not None and value is not None:
        return Sourced(value, said.source)
    if kind == "anthropic":
        if key == "window":
            listed = _listed_model(model, kind, None)
            if listed is not None and listed.context_window:
                return Sourced(int(listed.context_window), "genai-prices")
        family = _family(model)
        if family:
            return Sourced(family[1] if key == "window" else family[2], "table")
    return None


def _listed_model(model: str, kind: str, base_url: str | None) -> Any:
    """The entry of genai-prices (its bundled data, never its updates)."""
    if kind not in ("anthropic", "compatible") or (kind == "compatible" and not base_url):
        return None
    from genai_prices import data_snapshot

    try:
        provider_id, url = ("anthropic", None) if kind == "anthropic" else (None, base_url)
        return data_snapshot.get_snapshot().find_provider_model(model, None, provider_id, url)[1]
    except (LookupError, ValueError):
        return None


def _listed(model: str, kind: str, base_url: str | None) -> Any:
    from datetime import UTC, datetime

    found = _listed_model(model, kind, base_url)
    return found.get_prices(datetime.now(UTC)) if found is not None else None


def _base(price: Any, key: str) -> float | None:
    """The rate up to the first step."""
    rate = getattr(price, key, None)
    return None if rate is None else float(getattr(rate, "base", rate))


def _family(model: str) -> tuple[str, int, int, float, float] | None:
    return next((family for family in FAMILIES if model.startswith(family[0])), None)


def _line(model: str) -> tuple[str, float]:
    """("sonnet", 5.5) of "claude-sonnet-5-5"; ("", 0) for other names."""
    found = re.match(r"claude-([a-z]+)-(\d{1,2})(?:-(\d{1,2}))?(?!\d)", model)
    return (found[1], int(found[2]) + int(found[3] or 0) / 100) if found else ("", 0.0)


def _thinking_of(capability: Any) -> tuple[tuple[str, ...], str | None]:
    """(accepted types, the least) of a ``capabilities.thinking`` object."""
    if not isinstance(capability, Mapping):
        return (), None
    raw = capability.get("types")
    types = tuple(t for t in THINKING_TYPES if isinstance(raw, Mapping) and _supported(raw.get(t)))
    if not capability.get("supported"):
        return types, "none"
    return types, "off" if "disabled" in types else "between_tools" if "between_tools" in types else "always"


def _supported(value: Any) -> bool:
    return bool(value.get("supported")) if isinstance(value, Mapping) else bool(value)


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and value > 0 else None
