"""Which boot of this node it is.

What is written without a sync outlives a killed process and not a power cut: so who leaves files on a node notes the
boot, and trusts none of another one.
"""

from pathlib import Path

_FILE = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """Return 32 hexadecimal digits, the same in every container of the node."""
    try:
        return _FILE.read_text(encoding="ascii").strip().replace("-", "")
    except OSError:
        return "unknown"  # a sandbox that hides it: then what is noted outlives a reboot
