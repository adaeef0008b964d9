"""Every key of the stack file, changed once, and what must come of it: for mocks and for the real engine alike."""

from tests.stack.toggles.bucket import BUCKET
from tests.stack.toggles.images import IMAGES
from tests.stack.toggles.platform import PLATFORM
from tests.stack.toggles.pools import POOLS
from tests.stack.toggles.servers import SERVERS
from tests.stack.toggles.toggle import Toggle, change

TOGGLES: tuple[Toggle, ...] = (*PLATFORM, *BUCKET, *IMAGES, *POOLS, *SERVERS)

__all__ = ["TOGGLES", "Toggle", "change"]
