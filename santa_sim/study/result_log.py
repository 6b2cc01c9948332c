"""The log of a run: every finished point, one line each, added as it comes and checked when read.

A line is `checksum key json`: 16 hexadecimal digits of the SHA-256 of the rest, the 64 of the
point's identity, and what was found. A line is written whole or taken back, so that a run may be
killed at any moment; what was damaged later is noticed, said, and computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Container, Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_CHECKSUM = 16
_KEY = 64
_BODY = _CHECKSUM + 1 + _KEY + 1


class ResultLog:
    """The append-only log at `path`; a missing file is an empty log.

    damage: one sentence for each line that could not be read; such lines are gone from the file.
    Raises `OSError` where the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage: tuple[str, ...] = ()
        self._bodies: dict[str, bytes] = {}
        self._handle = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o666
        )
        try:
            self._read()
        except BaseException:
            os.close(self._handle)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._handle)

    def __contains__(self, key: object) -> bool:
        return key in self._bodies

    def __len__(self) -> int:
        return len(self._bodies)

    def get(self, key: str) -> Any:
        """Return what was logged under a key, or None."""
        body = self._bodies.get(key)
        return None if body is None else json.loads(body)

    def append(self, found: Iterable[tuple[str, Any]]) -> None:
        """Add (key, JSON-able result) pairs; they are on the disk when this returns, or none is."""
        lines = [(key, json.dumps(result, separators=(",", ":")).encode()) for key, result in found]
        text = b"".join(_line(key, body) for key, body in lines)
        size = os.fstat(self._handle).st_size
        try:
            _write(self._handle, text)
            os.fsync(self._handle)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._handle, size)
            raise
        self._bodies.update(lines)

    def keep_only(self, keys: Container[str]) -> None:
        """Drop what is logged under other keys."""
        kept = {key: body for key, body in self._bodies.items() if key in keys}
        if len(kept) < len(self._bodies):
            self._bodies = kept
            self._rewrite()

    def _read(self) -> None:
        content = Path(self.path).read_bytes()
        damage = []
        *lines, rest = content.split(b"\n")
        for number, line in enumerate(lines, 1):
            if _is_sound(line):
                self._bodies[_key_of(line)] = line[_BODY:]
            else:
                damage.append(f"{self.path}: row {number} is damaged; its point is computed again")
        if rest:
            damage.append(
                f"{self.path}: the last row is cut off after {len(rest)} bytes; its point is "
                "computed again"
            )
        self.damage = tuple(damage)
        if damage:
            self._rewrite()

    def _rewrite(self) -> None:
        """Replace the file by one that holds only what is known, at once."""
        fresh = self.path.with_name(self.path.name + ".new")
        with suppress(FileNotFoundError):
            fresh.unlink()
        handle = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        try:
            _write(handle, b"".join(_line(key, body) for key, body in self._bodies.items()))
            os.fsync(handle)
            fresh.replace(self.path)
        except BaseException:
            os.close(handle)
            with suppress(OSError):
                fresh.unlink()
            raise
        os.close(self._handle)
        self._handle = handle


def sound_keys(content: bytes) -> frozenset[str]:
    """Return the keys of the lines of a log that are whole."""
    lines = content.split(b"\n")[:-1]
    return frozenset(_key_of(line) for line in lines if _is_sound(line))


def _key_of(line: bytes) -> str:
    return line[_CHECKSUM + 1 : _BODY - 1].decode()


def _checksum(rest: bytes) -> bytes:
    return hashlib.sha256(rest).hexdigest()[:_CHECKSUM].encode()


def _line(key: str, body: bytes) -> bytes:
    rest = key.encode() + b" " + body
    return _checksum(rest) + b" " + rest + b"\n"


def _is_sound(line: bytes) -> bool:
    return len(line) > _BODY and line[: _CHECKSUM + 1] == (
        _checksum(line[_CHECKSUM + 1 :]) + b" "
    )


def _write(handle: int, text: bytes) -> None:
    view = memoryview(text)
    while view:  # a signal or a full disk may end a write early
        view = view[os.write(handle, view) :]
