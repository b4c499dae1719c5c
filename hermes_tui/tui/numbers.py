"""Numbers as the screen writes them: short, exact enough, with ``~`` for an estimate."""

from __future__ import annotations


def short(count: int) -> str:
    """COUNT in at most five columns: 312, 3.1k, 41.8k, 412k, 1.2M."""
    sign, size = ("-", -count) if count < 0 else ("", count)
    if size < 1_000:
        return f"{sign}{size}"
    for unit, letter in ((1_000, "k"), (1_000_000, "M"), (1_000_000_000, "G")):
        if size < unit * 999.5 or letter == "G":
            number = size / unit
            written = f"{number:.1f}" if number < 99.95 else f"{number:.0f}"
            return f"{sign}{written.removesuffix('.0')}{letter}"
    raise AssertionError("unreachable: the last unit takes everything")


def tokens(count: int, *, estimated: bool = False) -> str:
    """COUNT tokens, with ``~`` in front where they are estimated."""
    return f"~{short(count)}" if estimated else short(count)


def money(dollars: float) -> str:
    """DOLLARS with two digits, or four where two would say nothing."""
    if dollars and abs(dollars) < 0.01:
        return f"${dollars:.4f}"
    return f"${dollars:,.2f}"


def percent(part: float, whole: float) -> str:
    """PART of WHOLE in whole percent, with the thin space that the screen uses everywhere."""
    return f"{100 * part / whole:.0f} %" if whole else "0 %"


def seconds(duration: float) -> str:
    """DURATION (seconds) as a person reads it: 4 s, 1 m 20 s, 2 h 5 m."""
    whole = int(duration)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} m"


def counted(number: int, one: str, many: str | None = None) -> str:
    """NUMBER with its noun in the right form: 1 message, 214 messages."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
