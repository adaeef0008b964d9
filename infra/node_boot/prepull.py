"""Image pre-pull on AL2023: a unit of its own that pulls the very references of the pods while the node joins.

cloud-init only registers it: kubelet starts after cloud-init, and a node that has not joined after 15 minutes is
killed. The unit starts when kubelet does, whose own pull it competes with: it helps pods that come later, not the one
that the node was made for (aws.md 1.8).
"""

import shlex
from collections.abc import Sequence
from pathlib import Path

NAME = "image-prepull"

UNIT = "vllm-eks-prepull"
PROGRAM = f"/usr/local/bin/{UNIT}"
MEDIA_TYPE = 'text/x-shellscript; charset="us-ascii"'
LIMIT = 3600
"""Seconds after which systemd ends the unit, whatever it is doing."""

_SCRIPT = Path(__file__).with_name("prepull.sh")


def prepull_script(images: Sequence[str]) -> str:
    """Return the shell part of userData.

    Args:
        images: references as pods spell them, in the order to pull (the grammar leaves them nothing to expand).
    """
    unit = (
        f"systemd-run --no-block --unit={UNIT} --setenv=HOME=/root --property=RuntimeDirectory={UNIT}"
        f" --property=RuntimeDirectoryMode=0700 --property=RuntimeMaxSec={LIMIT}"
        " --property=Requires=nodeadm-run.service --property=After=nodeadm-run.service"
    )
    return "\n".join(
        [
            "#!/bin/bash",
            f"cat >{PROGRAM} <<'PREPULL'",
            _SCRIPT.read_text().rstrip("\n"),
            "PREPULL",
            f"chmod 0755 {PROGRAM}",
            " \\\n    ".join([f"{unit} {PROGRAM}", *(shlex.quote(image) for image in images)]) + " || true",
            "exit 0",
            "",
        ]
    )
