"""Running the unmodified program inside this process."""

from __future__ import annotations

import os
import re
import runpy
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pulumi

_HERE = Path(__file__).parents[1]


@dataclass(kw_only=True)
class Program:
    """`__main__.py` of a project as an inline Pulumi program, remembering how it failed."""

    project: Path
    refusal: str | None = None
    """Message of the pulumi.RunError that ended the program: text for the user of the stack."""
    crash: str | None = None
    """Traceback of any other exception: a bug in the program."""

    def run(self) -> None:
        """Run `__main__.py` as the language host would; the engine calls this."""
        try:
            runpy.run_path(str(self.project / "__main__.py"), run_name="__main__")
        except pulumi.RunError as refusal:
            self.refusal = str(refusal)
            raise
        except SystemExit as stop:
            if stop.code:
                self.crash = traceback.format_exc()
                raise
        except Exception:
            self.crash = self._traceback()
            raise

    def is_own(self, trace: str) -> bool:
        """Whether code of the program is in this traceback; else only SDK and engine are."""
        files = re.findall(r'^ *File "([^"]+)", line \d+', trace, re.MULTILINE)
        # A virtual environment and this package may lie inside the project's folder.
        return any(
            file.startswith(f"{self.project}{os.sep}") and not file.startswith((sys.prefix, str(_HERE)))
            for file in files
        )

    def _traceback(self) -> str:
        """The current traceback without the frames of the machinery above the program."""
        kind, error, trace = sys.exc_info()
        start = str(self.project / "__main__.py")
        while trace is not None and trace.tb_frame.f_code.co_filename != start:
            trace = trace.tb_next
        if trace is None:
            # A syntax error: __main__.py never began.
            return traceback.format_exc(limit=0)
        return "".join(traceback.format_exception(kind, error, trace))

    @contextmanager
    def imported_here(self) -> Iterator[None]:
        """Make the project folder the import root and working directory, as `pulumi` does.

        Modules of the project that are loaded already (by a test, or of another project) are put
        aside, so that two projects with a `settings.py` do not see each other's.
        """
        here, path = Path.cwd(), list(sys.path)
        aside = _project_modules(self.project)
        for name in aside:
            del sys.modules[name]
        try:
            os.chdir(self.project)
            sys.path.insert(0, str(self.project))
            yield
        finally:
            os.chdir(here)
            sys.path[:] = path
            for name in _project_modules(self.project):
                del sys.modules[name]
            sys.modules.update(aside)


def _project_modules(project: Path) -> dict[str, ModuleType]:
    """Loaded modules with a top-level name of the project, but not the rehearsal itself."""
    names = {path.stem for path in project.glob("*.py")}
    names |= {path.parent.name for path in project.glob("*/*.py")}
    names -= {"__main__", "rehearsal", "tests", "conftest"}
    # a copy first: other threads import while this runs
    return {name: module for name, module in sys.modules.copy().items() if name.partition(".")[0] in names}
