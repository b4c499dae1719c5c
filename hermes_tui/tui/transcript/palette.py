"""Style names to colours: each name is a class that the widget's style sheet knows, so a theme decides what it looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.style import Style
from textual.dom import DOMNode

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


class Palette:
    """The styles of one widget under the theme of the moment, each worked out when a row first needs it.

    They are not component classes of the widget: Textual would work out all of them at every change of focus or class.
    """

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        _, self._ground = widget.background_colors
        self.base: Style = widget.rich_style
        self._parts: dict[str, Style] = {}
        self._styles: dict[str, Style] = {"": self.base}

    def _part(self, name: str) -> Style:
        """The style that the widget's style sheet gives the class of NAME."""
        part = self._parts.get(name)
        if part is None:
            part = self._parts[name] = self._worked_out(name) if name in NAMES else Style.null()
        return part

    def _worked_out(self, name: str) -> Style:
        node = DOMNode(classes=f"transcript--{name}")
        node._attach(self._widget)
        self._widget.app.stylesheet.apply(node, animate=False)
        styles, ground = node.styles, self._ground
        own = styles.background if styles.has_rule("background") and styles.background.a else None
        behind = ground + own if own is not None else ground
        color = None
        if styles.has_rule("color") and styles.color.a:
            front = behind.get_contrast_text(styles.color.a) if styles.auto_color else styles.color
            color = (behind + front).rich_color
        return Style(color=color, bgcolor=behind.rich_color if own is not None else None) + styles.text_style

    def looks_like(self, other: Palette) -> bool:
        """Whether everything that OTHER has been asked for looks the same here."""
        return self.base == other.base and all(self._part(name) == style for name, style in other._parts.items())

    @property
    def selection(self) -> Style:
        """What is laid over selected text."""
        return self._part("selection")

    def style(self, names: str) -> Style:
        """The style for names separated by spaces, later ones on top; an unknown name changes nothing."""
        style = self._styles.get(names)
        if style is None:
            style = self.base
            for name in names.split(" "):
                style += self._part(name)
            self._styles[names] = style
        return style
