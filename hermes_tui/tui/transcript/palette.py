"""Style names to colours: each name is a component class of the widget, so a theme decides what it looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.style import Style

if TYPE_CHECKING:
    from textual.widget import Widget

NAMES = (
    "user", "user-name", "reply", "reply-name", "queued", "muted", "caret", "cursor", "selection",
    "heading", "heading-1", "heading-2", "heading-3", "heading-4", "strong", "em", "strike", "inline-code", "link", "bullet",
    "quote", "quote-bar", "rule", "table-header", "table-rule",
    "code", "code-label", "syntax-comment", "syntax-keyword", "syntax-string", "syntax-number", "syntax-builtin",
    "syntax-function", "syntax-deleted", "syntax-inserted",
    "card-glyph", "card-name", "card-argument", "card-tokens", "card-thought", "card-input", "card-result", "thought",
    "divider", "divider-line", "notice", "warning", "error",
)  # fmt: skip
"""Every style name that rows use."""

COMPONENTS = frozenset(f"transcript--{name}" for name in NAMES)
"""The widget's component classes."""


class Palette:
    """The styles of one widget under the theme of the moment."""

    def __init__(self, widget: Widget) -> None:
        _, ground = widget.background_colors
        self.base: Style = widget.rich_style
        parts: dict[str, Style] = {}
        for name in NAMES:
            styles = widget.get_component_styles(f"transcript--{name}")
            own = styles.background if styles.has_rule("background") and styles.background.a else None
            behind = ground + own if own is not None else ground
            color = None
            if styles.has_rule("color") and styles.color.a:
                front = behind.get_contrast_text(styles.color.a) if styles.auto_color else styles.color
                color = (behind + front).rich_color
            parts[name] = Style(color=color, bgcolor=behind.rich_color if own is not None else None) + styles.text_style
        self._parts = parts
        self._styles: dict[str, Style] = {"": self.base}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Palette) and self.base == other.base and self._parts == other._parts

    __hash__ = None  # type: ignore[assignment]

    @property
    def selection(self) -> Style:
        """What is laid over selected text."""
        return self._parts["selection"]

    def style(self, names: str) -> Style:
        """The style for names separated by spaces, later ones on top; an unknown name changes nothing."""
        style = self._styles.get(names)
        if style is None:
            style = self.base
            for name in names.split(" "):
                style += self._parts.get(name, Style.null())
            self._styles[names] = style
        return style
