"""The server of article 000, and the techniques that it measured and the program does not have yet."""

from collections.abc import Mapping

from serving.budget.baseline import wake_seconds
from serving.budget.predict import predicted
from serving.budget.timeline import Start, Timeline, total
from serving.pod import Situation
from serving.techniques import TECHNIQUES
from serving.techniques.technique import Effect, Technique, scaled
from tests.serving.situations import situation

IMAGE_PREPULL = Technique(
    name="image-prepull",
    effects=(
        Effect(
            phase="image pull",
            starts=("fresh node",),
            seconds=scaled(36.0 / 64.5),
            evidence="measured",
            source="article 000: 64-65 s -> 32.2 and 39.8 s (n=2)",
        ),
    ),
)

SLEEP_MODE = Technique(
    name="sleep-mode",
    effects=(
        Effect(
            phase="wake",
            starts=("wake",),
            seconds=lambda _before, about, _kind: wake_seconds(about),
            evidence="measured",
            source="article 000: POST /wake_up 0.97 s",
        ),
    ),
)

TABLE: Mapping[str, Technique] = {"image-prepull": IMAGE_PREPULL, "sleep-mode": SLEEP_MODE, **TECHNIQUES}

STEPS = {
    "step-0": (),
    "step-1": ("streaming-loader",),
    "step-2": ("streaming-loader", "node-cache"),
    "step-3": ("streaming-loader", "node-cache", "cache-restore"),
    "step-4": ("streaming-loader", "node-cache", "cache-restore", "image-prepull"),
    "step-5": ("streaming-loader", "node-cache", "sleep-mode", "front-proxy"),
}


def article() -> Situation:
    return situation(nodes={"instanceTypes": ["g7e.2xlarge"]}, engine={"version": "0.26.0"}, model={"sizeGib": 30.5})


def timeline(step: str, start: Start) -> Timeline:
    about = article()
    return predicted(about, STEPS[step], start, about.pool.types[0], TABLE)


def seconds(step: str, start: Start) -> float:
    return total(timeline(step, start))
