"""How a node starts: its image, its userData, and where its fast disk is. Pure functions of plain values.

`user_data(NodeBoot(...))` is what the EC2NodeClass carries; `boot_problems` is asked before any resource.
"""

from infra.node_boot.ami import Ami, ami_alias
from infra.node_boot.boot import NodeBoot, boot_problems, user_data
from infra.node_boot.disks import Disk, cache_root

__all__ = ["Ami", "Disk", "NodeBoot", "ami_alias", "boot_problems", "cache_root", "user_data"]
