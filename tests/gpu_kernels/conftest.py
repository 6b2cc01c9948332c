import os
from importlib.util import find_spec

import pytest

if find_spec("torch") is not None:
    import torch

    # must be set before any kernel is imported: without a GPU the same tests run on the CPU
    if not torch.cuda.is_available():
        os.environ["TRITON_INTERPRET"] = "1"


@pytest.fixture(scope="session")
def device():
    """Where kernels run: the GPU, or the CPU under Triton's interpreter."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("triton")
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
