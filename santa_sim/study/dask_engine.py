"""The Dask engine: a cluster of this machine, or one that is reached over TCP."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

from hw_models.problems import Problem, SpecError
from santa_sim.study.one_thread import ONE_THREAD

CONNECT_SECONDS = 10


class DaskEngine:
    """Chunks go to Dask workers; results come back here, so a lost worker loses none.

    address: of a scheduler; None starts workers on this machine, `jobs` of them.
    """

    def __init__(self, address: str | None, jobs: int) -> None:
        try:
            import distributed  # noqa: F401
        except ImportError:
            raise SpecError(
                Problem("--engine dask needs Dask: pip install 'santa_sim[dask]'")
            ) from None
        self._address, self._jobs = address, jobs
        self.workers = jobs
        self._client: Any = None
        self._cluster: Any = None

    def start(self) -> Executor:
        """Connect, and return an executor over the whole cluster."""
        from distributed import Client

        self.stop()
        if self._address is None:
            self._cluster = _local_cluster(self._jobs)
        try:
            self._client = Client(
                self._address or self._cluster, timeout=CONNECT_SECONDS, set_as_default=False
            )
        except (OSError, ValueError) as error:
            raise SpecError(Problem(
                f"--engine: no Dask scheduler answers at {self._address}: "
                f"{str(error) or type(error).__name__}"
            )) from None
        self.workers = max(1, sum(self._client.nthreads().values()))
        executor: Executor = self._client.get_executor(pure=False)
        return executor

    def stop(self) -> None:
        """Close the connection, and the workers that were started for it."""
        for each in (self._client, self._cluster):
            if each is not None:
                each.close()
        self._client = self._cluster = None


def _local_cluster(jobs: int) -> Any:
    import dask
    from distributed import LocalCluster

    # Dask does not cap Numba's threads itself (distributed#9075)
    one = dict.fromkeys(ONE_THREAD, 1)
    with dask.config.set({"distributed.nanny.pre-spawn-environ": one}):
        return LocalCluster(
            n_workers=jobs, threads_per_worker=1, dashboard_address=None, silence_logs=40,
        )
