"""Programs that run inside pods, each run as a process of its own from one flat folder, as a ConfigMap mounts them."""

import atexit
import compileall
import functools
import shutil
import tempfile
from pathlib import Path
from typing import get_args

from serving.programs import Program, files


@functools.cache
def mounted() -> Path:
    """Return the folder. Compiled once, because a run of the tests starts some hundred of these programs."""
    folder = Path(tempfile.mkdtemp(prefix="vllm-eks-programs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name, text in files(*get_args(Program)).items():
        (folder / name).write_text(text)
    compileall.compile_dir(folder, quiet=1)
    return folder


def program(name: Program) -> str:
    return str(mounted() / f"{name}.py")
