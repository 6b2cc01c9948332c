"""A run that may be killed between any two steps. Importing it loads and compiles all it needs."""

import os
import tempfile
import time
from pathlib import Path

from santa_sim.study import __main__ as command
from santa_sim.study import chunks, dispatch

STUDY = """\
name: warm
title: Warm
seeds: {count: 2}
data:
  - {kind: synthetic, geometry: smollm2-135m, law: {kind: zipf}, effective_support: 9, context: 64}
methods:
  - {name: dense}
  - {name: s2anta_comb, samples: 16}
  - {name: s2anta_flash, samples: 64}
accelerators: [h200_sxm]
"""


def slow_run(study, out):
    """Run with one point per chunk and a pause after each."""
    real = dispatch.run_chunk

    def slow(chunk):
        done = real(chunk)
        time.sleep(0.02)
        return done

    chunks.CHUNK_SECONDS = 0.0
    dispatch.run_chunk = slow
    os._exit(command.main([str(study), "--quiet", "--out", str(out), "--engine", "serial"]))


if __name__ == "slow_runner" and os.environ.get("SANTA_SIM_WARM"):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "warm.yaml"
        file.write_text(STUDY, encoding="utf-8")
        command.main([str(file), "--quiet", "--out", f"{folder}/out", "--engine", "serial"])
