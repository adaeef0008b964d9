"""What is said of a price that nobody knows."""

from ops.stack.stack_file import Stack


def unknown(stack: Stack, pool: str, kind: str) -> str:
    """Return that nobody knows what an hour of an instance type costs, and the setting that says it."""
    return (
        f"gpuPools.{pool}.prices: nobody knows what {kind} costs in {stack.region}; expected"
        f" `prices: {{{kind}: <USD an hour>}}` below gpuPools.{pool} in Pulumi.{stack.name}.yaml"
    )
