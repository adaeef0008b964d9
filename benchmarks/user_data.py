"""How much of EC2's 16 KiB a node's userData takes, before base64 and before Karpenter adds its own part."""

from infra.node_boot import NodeBoot, user_data
from infra.node_boot.ami import Family
from infra.node_boot.boot import LIMIT, OF_KARPENTER

IMAGE = (
    "000000000000.dkr.ecr.ap-southeast-1.amazonaws.com/inference-staging/ecr-public/deep-learning-containers/vllm"
    ":0.21.0-gpu-py312-cu130-ubuntu22.04-ec2-v1.0-soci-{:04}"
)
"""As long as a reference gets in practice."""


def size(os: Family, *, parallel_pull: bool = False, images: int = 0) -> int:
    pulled = tuple(IMAGE.format(number) for number in range(images))
    return len(user_data(NodeBoot(os=os, parallel_pull=parallel_pull, prepull=pulled)).encode())


if __name__ == "__main__":
    each = size("al2023", images=2) - size("al2023", images=1)
    most = 1 + (LIMIT - OF_KARPENTER - size("al2023", images=1)) // each
    for name, found in (
        ("al2023", size("al2023")),
        ("al2023, parallel-pull", size("al2023", parallel_pull=True)),
        ("al2023, image-prepull of 2 images", size("al2023", images=2)),
        ("al2023, image-prepull of 30 images", size("al2023", images=30)),
        (f"al2023, image-prepull of {most} images, the most", size("al2023", images=most)),
        ("bottlerocket, parallel-pull", size("bottlerocket", parallel_pull=True)),
    ):
        print(f"{name:<50} {found:>6} of {LIMIT - OF_KARPENTER} bytes")
