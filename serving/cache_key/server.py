"""From settings to what the key is made of. Apart from the key itself, because techniques may ask for that."""

from collections.abc import Sequence

from infra.gpu_pools import GpuPool
from serving.cache_key import KeyedServer
from serving.pod import Situation, baseline
from serving.techniques import applied


def keyed(about: Situation, pool: GpuPool, techniques: Sequence[str]) -> KeyedServer:
    """Return what decides over the cache of a server with these techniques on this pool."""
    uri = about.model.uri
    pod = applied(baseline(about, "claim"), techniques, about, uri.bucket)
    return KeyedServer(
        engine=about.engine,
        model=about.model,
        pool=pool,
        # an output only waits for the bucket: what it will be is the model's URI
        argument=pod.model if isinstance(pod.model, str) else f"s3://{uri.bucket}/{uri.prefix}",
        flags=pod.flags,
        env=pod.env,
    )
