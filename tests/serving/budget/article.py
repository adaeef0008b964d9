"""The server of article 000 and its ladder."""

from serving.budget.predict import predicted
from serving.budget.timeline import Start, Timeline, total
from serving.ladder import PRESETS
from serving.pod import Situation
from tests.serving.situations import situation

STEPS = {name: preset.techniques for name, preset in PRESETS.items() if name.startswith("step-")}


def article() -> Situation:
    return situation(nodes={"instanceTypes": ["g7e.2xlarge"]}, engine={"version": "0.26.0"}, model={"sizeGib": 30.5})


def timeline(step: str, start: Start) -> Timeline:
    about = article()
    return predicted(about, STEPS[step], start, about.pool.types[0])


def seconds(step: str, start: Start) -> float:
    return total(timeline(step, start))
