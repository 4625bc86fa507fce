"""The one parser of all magics: quotes come off, nothing is expanded, a mistake is one sentence and never an exit."""

from __future__ import annotations

import argparse
import difflib
import keyword
import re
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from dvergr_nb.errors import BadInput
from dvergr_nb.records.text import clipped, shown

WIDTH: Final = 100
"""Columns of a help text."""
WORD: Final = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")
QUOTED: Final = re.compile(r"""'[^']*'|"[^"]*\"""")
QUOTES: Final = {"'": '"', '"': "'"}


class Parser(argparse.ArgumentParser):
    """Describes the line of one magic. `Parser("%runs", "Recent Runs, newest first.")`, then `add_argument` as usual."""

    def __init__(self, prog: str, description: str, epilog: str | None = None) -> None:
        super().__init__(
            prog=prog, description=description, epilog=epilog, add_help=False, allow_abbrev=False, formatter_class=_Wide
        )
        self.add_argument("-h", "--help", action="store_true", help="show this help")

    def line(self, line: str) -> Line:
        """What was typed after the name of the magic. Raises `BadInput`."""
        text, is_silent = _silenced(line)
        words = _words(self.prog, text)
        if _asks_help(words):
            return Line(argparse.Namespace(), is_silent, self.format_help())
        given, strange = self.parse_known_intermixed_args(words)
        if strange:
            self._refuse(strange[0])
        return Line(given, is_silent, None)

    def head(self, line: str) -> tuple[Line, str]:
        """The options at the start of the line, and the rest as it was typed. Raises `BadInput`."""
        text, is_silent = _silenced(line)
        words = text.split()
        taken = 0
        while taken < len(words) and words[taken].startswith("-") and words[taken] != "--":
            taken += 2 if self.takes_value(words[taken]) else 1
        rest = text.split(None, taken)[taken] if taken < len(words) else ""
        given = self.line(" ".join(words[:taken]))
        return Line(given.raw, is_silent, given.help), rest

    def takes_value(self, word: str) -> bool:
        """Whether the word is an option after which its value stands."""
        action = self._option_string_actions.get(word)
        return action is not None and action.nargs != 0

    def options(self) -> list[str]:
        """The long options, for Tab."""
        return [name for action in self._actions for name in action.option_strings if name.startswith("--")]

    def error(self, message: str) -> NoReturn:
        """Turns argparse's complaint into ours."""
        raise BadInput(f"{self.prog}: {message.replace('argument ', '', 1)}; {self.prog} --help shows how")

    def _refuse(self, word: str) -> NoReturn:
        known = self.options()
        if not word.startswith("-"):
            raise BadInput(f"{self.prog} takes no {shown(word)} there; put a text with blanks into quotes")
        name = word.split("=", 1)[0]
        nearest = difflib.get_close_matches(name, known, 1, 0.5)
        hint = f"did you mean {nearest[0]}? " if nearest else ""
        raise BadInput(f"{self.prog} has no option {clipped(name, 60)}; {hint}It has {', '.join(known)}")


class Line:
    """A line as it was understood."""

    def __init__(self, given: argparse.Namespace, is_silent: bool, help_text: str | None) -> None:
        self.raw = given
        self.is_silent = is_silent
        """Whether a trailing semicolon asks to show nothing."""
        self.help = help_text
        """The help, where it was asked for; then there is nothing else."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


class _Wide(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=WIDTH)


def _asks_help(words: Sequence[str]) -> bool:
    own = words[: words.index("--")] if "--" in words else words
    return "-h" in own or "--help" in own


def _silenced(line: str) -> tuple[str, bool]:
    text = line.strip()
    return (text[:-1].rstrip(), True) if text.endswith(";") else (text, False)


def _words(prog: str, text: str) -> list[str]:
    """Splits at blanks outside of quotes; a `#` that stands alone begins a comment, as it does in the cell around it.

    A backslash is a character like any other, so that paths of Windows survive.
    """
    words: list[str] = []
    at = 0
    while at < len(text):
        found = WORD.match(text, at)
        if found and found[0] == "#":
            break
        at = found.end() if found else at
        if at < len(text) and text[at] in QUOTES:
            mark, other = text[at], QUOTES[text[at]]
            raise BadInput(
                f"{prog}: a {mark} is opened and never closed; put a text that contains {mark} between {other} and {other}"
            )
        if found:
            words.append(QUOTED.sub(lambda quoted: quoted[0][1:-1], found[0]))
        at += 1
    return words


def seconds(text: str) -> float:
    """A positive number of seconds, for an option's `type`."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    return value if 0 < value < float("inf") else _not("a number of seconds above 0", text)


def usd(text: str) -> float:
    """An amount of dollars above 0, with or without its sign, for an option's `type`."""
    try:
        value = float(text.removeprefix("$").replace("_", ""))
    except ValueError:
        value = 0.0
    return value if 0 < value <= 1_000_000 else _not("an amount of dollars above 0 and at most 1,000,000, such as 0.50", text)


def whole(text: str) -> int:
    """A whole number from 1, for an option's `type`."""
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else _not("a whole number from 1", text)


def variable(text: str) -> str:
    """A name that Python accepts, for `-o`."""
    return text if text.isidentifier() and not keyword.iskeyword(text) else _not("a name that Python accepts", text)


def _not(wanted: str, text: str) -> NoReturn:
    raise argparse.ArgumentTypeError(f"needs {wanted}, not {shown(text)}")
