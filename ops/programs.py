"""What `ops` takes from the programs of the pods: how they report, how an engine's log and a manifest are read.

In a pod these files lie in one folder and import each other by plain name; so do type checkers see them. Here they are
modules of a package, and only those that import no other of them can be.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from build_report import CODES as BUILD_EXIT
    from build_report import LINE as BUILD_LINE
    from engine_log import VERSIONS as ENGINE_TEXTS
    from engine_log import Start, Texts
    from layout import DEFAULT_ENDPOINT, MARKER, pinned, place
    from manifest import MANIFEST, MAX_MANIFEST, PREFIX, Folder, Manifest, ManifestError
    from manifest import parse as manifest
    from outcome import LINE as RESTORE_LINE
else:
    from serving.scripts.cache_build.build_report import CODES as BUILD_EXIT
    from serving.scripts.cache_build.build_report import LINE as BUILD_LINE
    from serving.scripts.cache_build.engine_log import VERSIONS as ENGINE_TEXTS
    from serving.scripts.cache_build.engine_log import Start, Texts
    from serving.scripts.onboard.layout import DEFAULT_ENDPOINT, MARKER, pinned, place
    from serving.scripts.restore.manifest import MANIFEST, MAX_MANIFEST, PREFIX, Folder, Manifest, ManifestError
    from serving.scripts.restore.manifest import parse as manifest
    from serving.scripts.restore.outcome import LINE as RESTORE_LINE

__all__ = [
    "BUILD_EXIT",
    "BUILD_LINE",
    "DEFAULT_ENDPOINT",
    "ENGINE_TEXTS",
    "MANIFEST",
    "MARKER",
    "MAX_MANIFEST",
    "PREFIX",
    "RESTORE_LINE",
    "Folder",
    "Manifest",
    "ManifestError",
    "Start",
    "Texts",
    "manifest",
    "pinned",
    "place",
]
