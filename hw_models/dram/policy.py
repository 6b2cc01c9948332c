"""How the memory controller schedules, apart from what the memory itself demands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hw_models.problems import Problem, SpecError, did_you_mean

MAX_QUEUE = 4096


class Page(StrEnum):
    """What happens to a row that no queued request wants."""

    OPEN = "open"
    """It stays open until another row of its bank is wanted."""
    CLOSED = "closed"
    """The last column command closes it."""


@dataclass(frozen=True)
class Policy:
    """First-ready, first-come-first-served scheduling of a bounded queue per channel.

    In each cycle the oldest request whose burst can start now goes first; else the oldest whose
    activation or precharge can. A row closes only when no queued request wants it.
    starvation_cap: once this many bursts have passed the oldest request, only its commands go.
    requests_per_cycle: None where each channel has a source of its own, which waits for its own
    queue alone; else one source issues at most so many requests per cycle, in order, and waits for
    the full queue that its next request needs.
    """

    page: Page = Page.OPEN
    starvation_cap: int = 256
    requests_per_cycle: int | None = None

    def __post_init__(self) -> None:
        if self.page not in list(Page):
            near = did_you_mean(str(self.page), list(Page))
            raise SpecError(Problem(f"got page '{self.page}'{near}", path=("policy", "page")))
        _at_least_one(self.starvation_cap, "starvation_cap", "no request could go first")
        if self.requests_per_cycle is not None:
            _at_least_one(self.requests_per_cycle, "requests_per_cycle", "the source never issues")


def check_queue(queue: int) -> None:
    """Raise `SpecError` unless `queue` is a size that works."""
    _at_least_one(queue, "queue", "it holds no request")
    if queue > MAX_QUEUE:
        raise SpecError(Problem(f"must be at most {MAX_QUEUE}, got {queue}", path=("queue",)))


def _at_least_one(value: int, name: str, why: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise SpecError(Problem(f"must be a whole number, got {value!r}", path=(name,)))
    if value < 1:
        message = f"got {value}: {why}; the smallest value that works is 1"
        raise SpecError(Problem(message, path=(name,)))
