"""What docs/cold-start.md says in seconds is what the program predicts."""

import pytest

from serving.budget.predict import in_force, predictions
from serving.budget.timeline import POD_STARTS, total
from serving.ladder import PRESETS
from tests.harness import ROOT
from tests.serving.budget.article import article


@pytest.mark.parametrize("preset", PRESETS)
def test_the_documented_seconds_of_a_preset_are_the_program_s(preset: str) -> None:
    about = article()
    starts = predictions(about, in_force(about, PRESETS[preset].techniques))["g7e.2xlarge"]
    seconds = " | ".join(f"{total(starts[start]):.0f}" for start in POD_STARTS)
    assert f"| `{preset}` | {seconds} |" in (ROOT / "docs/cold-start.md").read_text()
