"""Limits as callers give them: numbers of any size, which the engine has less room for.

A limit that is too large to be reached is no limit; it must not be an error.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MB = 1 << 20
_LARGEST = 1 << 62
_MOST_DAYS = (1 << 32) - 1


class Usual(int):
    """A limit that stands where nobody gave one. It is recorded with no project."""


def is_usual(limit: Any) -> bool:
    """Did nobody give this limit?"""
    return isinstance(limit, Usual)


def at_least(least: int, limit: Any) -> int:
    """The limit, but no less than ``least``.

    >>> at_least(1, -5), is_usual(at_least(1, Usual(20))), is_usual(at_least(1, 20))
    (1, True, False)
    """
    return limit if is_usual(limit) else max(least, int(limit))


def whole(number: Any, most: int = _LARGEST) -> int:
    """The number, between 0 and ``most``.

    >>> whole(10**30) == whole(float("inf")) == 2**62
    True
    >>> whole(-1), whole("7")
    (0, 7)
    """
    if number == float("inf"):
        return most
    return max(0, min(int(number), most))


def in_bytes(megabytes: Any) -> int:
    """So many megabytes.

    >>> in_bytes(2)
    2097152
    """
    return whole(megabytes, _LARGEST // _MB) * _MB


def in_days(days: Any) -> int:
    """So many days; as long as there is a calendar, 2**32 of them have no end."""
    return whole(days, _MOST_DAYS)
