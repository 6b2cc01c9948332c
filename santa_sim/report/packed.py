"""Tables as bytes that a page can carry: one column after the other, compressed, in base64.

The layout, which `page/unpack.js` reads: a 32-bit length, a JSON header of that length, then the
columns. A column of numbers is stored by byte planes (first bytes of all numbers, then the second
bytes, ...), which compresses far better. Text columns are codes into a list of words. All numbers
are little-endian.
"""

from __future__ import annotations

import gzip
import json
import struct
from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

_SINGLE = np.finfo(np.float32)
_KEPT_BITS = 16
"""Significant bits that a rounded number keeps: its relative error is at most 2^-16."""


def packed(tables: Mapping[str, pd.DataFrame], facts: Mapping[str, Any],
           rounded: frozenset[str] = frozenset()) -> str:
    """Return tables and facts as base64 of gzip.

    Whole numbers are exact up to 2^53. Other numbers keep 24 significant bits (float32), those of
    the tables in `rounded` 16; a column with one beyond float32 keeps float64. Missing numbers are
    NaN. facts: anything JSON-able.
    """
    described: dict[str, Any] = {}
    body: list[bytes] = []
    for name, frame in tables.items():
        columns = []
        for column in frame.columns:
            entry, planes = _column(frame[column], name in rounded)
            columns.append({"name": str(column), **entry})
            body.append(planes)
        described[name] = {"rows": len(frame), "columns": columns}
    header = json.dumps(
        {"facts": facts, "tables": described}, allow_nan=False, ensure_ascii=False,
        separators=(",", ":"),
    ).encode("utf-8")
    data = b"".join([struct.pack("<I", len(header)), header, *body])
    return b64encode(gzip.compress(data, compresslevel=6, mtime=0)).decode("ascii")


def _column(values: pd.Series, rounded: bool) -> tuple[dict[str, Any], bytes]:
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(values.dtype):
        codes, words = pd.factorize(values.astype(object).where(values.notna(), ""))
        kind = "u1" if len(words) <= 1 << 8 else "u2" if len(words) <= 1 << 16 else "u4"
        entry = {"type": kind, "words": [str(w) for w in words]}
        return entry, _planes(codes.astype(f"<{kind}"))
    numbers = values.to_numpy(dtype="float64", na_value=np.nan)
    finite = numbers[np.isfinite(numbers)]
    if len(finite) == len(numbers) and len(finite) and (finite >= 0).all():
        for bits, kind in ((8, "u1"), (16, "u2"), (32, "u4")):
            if (finite == np.floor(finite)).all() and finite.max() < 1 << bits:
                return {"type": kind}, _planes(numbers.astype(f"<{kind}"))
    if not rounded and len(finite) and (finite == np.floor(finite)).all():
        return {"type": "f8"}, _planes(numbers.astype("<f8"))
    sizes = np.abs(finite[finite != 0])
    if len(sizes) and (sizes.max() >= _SINGLE.max or sizes.min() < _SINGLE.tiny):
        return {"type": "f8"}, _planes(numbers.astype("<f8"))
    single = numbers.astype("<f4")
    return {"type": "f4"}, _planes(_round(single) if rounded else single)


def _round(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Round to `_KEPT_BITS` significant bits, so that the last byte plane is empty."""
    dropped = 24 - _KEPT_BITS
    bits = values.view("<u4").astype(np.uint64)
    kept = ((bits + (1 << (dropped - 1))) >> dropped) << dropped
    result = kept.astype("<u4").view("<f4")
    return np.where(np.isfinite(values) & np.isfinite(result), result, values).astype("<f4")


def _planes(values: NDArray[Any]) -> bytes:
    return values.view(np.uint8).reshape(len(values), values.itemsize).T.tobytes()
