"""The table of the settings in docs/front-proxy.md says what the classes say."""

import re
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic.fields import FieldInfo

from serving.front.settings import FrontSettings, SleepSettings, Wake

PAGE = (Path(__file__).parents[3] / "docs/front-proxy.md").read_text()
ROWS = re.compile(r"^\| `(\w+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \| [^|]+ \|$", re.MULTILINE)


def rows(section: str) -> dict[str, tuple[str, ...]]:
    """Unit, range and default by key, as the page has them."""
    _, _, rest = PAGE.partition(f"| `servers.<name>.{section}.` |")
    return {key: tuple(map(str.strip, cells)) for key, *cells in ROWS.findall(rest.partition("\n\n")[0])}


def row(field: FieldInfo) -> tuple[str, str, str]:
    if field.default is None:
        assert field.annotation == Wake | None
        return "word", " or ".join(get_args(Wake)), "as the preset has it"
    limits: dict[str, Any] = {}
    for one in field.metadata:
        limits |= {name: getattr(one, name) for name in ("ge", "le") if hasattr(one, name)}
    assert field.description
    unit = re.match(r"a whole number of (\w+)", field.description)
    return unit[1] if unit else "connections", f"{limits['ge']} to {limits['le']}", str(field.default)


@pytest.mark.parametrize(("section", "settings"), [("front", FrontSettings), ("sleep", SleepSettings)])
def test_the_page_names_every_key_with_its_unit_range_and_default(
    section: str, settings: type[FrontSettings | SleepSettings]
) -> None:
    assert rows(section) == {field.alias: row(field) for field in settings.model_fields.values()}
