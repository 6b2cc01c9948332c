"""Studies: one YAML in, tables and a report out (`run_study`, `python -m santa_sim.study`)."""

from santa_sim.study.run import StudyResult
from santa_sim.study.run_folder import run_study

__all__ = ["StudyResult", "run_study"]
