"""The looks of a transcript: its component classes in the colours of the theme.

Weight and space instead of boxes, and one accent: names of people, links, keywords. ``$muted`` and ``$region-summary`` are
variables of this product's themes; an app without such a theme gives them by ``get_theme_variable_defaults``.
"""

LOOKS = """
Transcript {
    background: $background;
    color: $foreground 92%;
    overflow-x: hidden;
    overflow-y: auto;
    scrollbar-gutter: stable;
    scrollbar-size-vertical: 1;
    scrollbar-background: $background;
    scrollbar-background-hover: $background;
    scrollbar-background-active: $background;
    scrollbar-color: $panel;
    scrollbar-color-hover: $muted;
    scrollbar-color-active: $accent;

    .transcript--user { color: $foreground; }
    .transcript--user-name { color: $accent; text-style: bold; }
    .transcript--reply { }
    .transcript--reply-name { color: $muted; text-style: bold; }
    .transcript--queued { color: $muted; }
    .transcript--muted { color: $muted; }
    .transcript--caret { color: $accent; }
    .transcript--cursor { color: $accent; }
    .transcript--selection { background: $screen-selection-background; color: $foreground; }

    .transcript--heading { color: $foreground; text-style: bold; }
    .transcript--heading-1 { text-style: bold underline; }
    .transcript--heading-4 { color: $muted; text-style: bold; }
    .transcript--strong { color: $foreground; text-style: bold; }
    .transcript--em { text-style: italic; }
    .transcript--strike { color: $muted; text-style: strike; }
    .transcript--inline-code { background: $surface; color: $foreground; }
    .transcript--link { color: $accent; text-style: underline; }
    .transcript--bullet { color: $muted; }
    .transcript--quote { color: $muted; }
    .transcript--quote-bar { color: $muted 50%; }
    .transcript--rule { color: $muted 50%; }
    .transcript--table-header { color: $foreground; text-style: bold; }
    .transcript--table-rule { color: $muted 50%; }

    .transcript--code { background: $surface; }
    .transcript--code-label { color: $muted 70%; }
    .transcript--syntax-comment { color: $muted; text-style: italic; }
    .transcript--syntax-keyword { color: $accent; }
    .transcript--syntax-string { color: $success; }
    .transcript--syntax-number { color: $warning; }
    .transcript--syntax-builtin { color: $secondary; }
    .transcript--syntax-function { color: $foreground; text-style: bold; }
    .transcript--syntax-deleted { color: $error; }
    .transcript--syntax-inserted { color: $success; }

    .transcript--card-glyph { color: $muted; }
    .transcript--card-name { color: $foreground 80%; }
    .transcript--card-argument { color: $muted; }
    .transcript--card-tokens { color: $muted; }
    .transcript--card-thought { color: $muted; text-style: italic; }
    .transcript--card-input { color: $muted; }
    .transcript--card-result { color: $foreground 80%; }
    .transcript--thought { color: $muted; text-style: italic; }

    .transcript--divider { color: $region-summary; }
    .transcript--divider-line { color: $muted 50%; }
    .transcript--notice { color: $muted; }
    .transcript--warning { color: $warning; }
    .transcript--error { color: $error; }
}
"""
"""The widget's default CSS."""
