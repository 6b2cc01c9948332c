"""Reads what a page carries, as the page itself does."""

import gzip
import json
import re
import struct
from base64 import b64decode

import numpy as np


def carried(html: str):
    """Return (facts, tables) of a report page."""
    return unpacked(re.search(r'<script type="application/gzip" id="data">(.*?)</script>', html)[1])


def unpacked(text: str):
    """Return the facts and the tables (name -> column -> values) of what `packed` made."""
    data = gzip.decompress(b64decode(text))
    (length,) = struct.unpack_from("<I", data)
    header = json.loads(data[4:4 + length])
    offset = 4 + length
    tables = {}
    for name, table in header["tables"].items():
        rows = table["rows"]
        tables[name] = {}
        for column in table["columns"]:
            size = int(column["type"][1])
            planes = np.frombuffer(data, np.uint8, size * rows, offset).reshape(size, rows)
            values = np.ascontiguousarray(planes.T).view(f"<{column['type']}").ravel().tolist()
            words = column.get("words")
            tables[name][column["name"]] = values if words is None else [words[v] for v in values]
            offset += size * rows
    assert offset == len(data)
    return header["facts"], tables
