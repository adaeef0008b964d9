"""The pages' pictures are what the tools draw today."""

import pytest

from tests.docs.pictures import FOLDER, pictures
from tests.harness import ROOT


@pytest.fixture(scope="module")
def drawn():
    return pictures()


def test_the_pictures_are_what_the_tools_draw(drawn):
    stale = [name for name, content in drawn.items() if (FOLDER / name).read_text(encoding="utf-8") != content]
    assert stale == [], "make pictures"


def test_each_picture_is_shown(drawn):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = readme + (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert {path.name for path in FOLDER.iterdir()} == set(drawn)
    assert [name for name in drawn if f"pictures/{name}" not in pages] == []
