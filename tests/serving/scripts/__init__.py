"""Programs that run inside pods, each run as one."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

SCRIPTS = Path(__file__).parents[3] / "serving/scripts"


def stub_engine_path() -> str:
    """Return the program that stands in for `vllm serve`."""
    return str(Path(__file__).parent / "stub_engine.py")


def load(name: str) -> ModuleType:
    """Import a module of the scripts as it is in the pod: by its plain name, beside the others."""
    if str(SCRIPTS) not in sys.path:
        sys.path.append(str(SCRIPTS))
    return importlib.import_module(name)
