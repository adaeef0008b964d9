"""Elements of a page or a picture. Text goes in as it is, and comes out escaped: nothing is ever glued together."""

import re
from collections.abc import Mapping
from xml.etree import ElementTree

Element = ElementTree.Element
Content = str | Element
Attributes = Mapping[str, str | float]

SVG = "http://www.w3.org/2000/svg"

_UNFIT = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2029\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML cannot hold, and the signs that turn the direction of the text after them."""

_REPLACEMENT = "\ufffd"


def fit(text: str) -> str:
    """Return the text with a replacement sign for each that no document may hold."""
    return _UNFIT.sub(_REPLACEMENT, text)


def number(value: float) -> str:
    """Return a coordinate: at most three decimals, none that say nothing, and no minus before 0."""
    return f"{round(value, 3) + 0:.3f}".rstrip("0").rstrip(".")


def element(name: str, attributes: Attributes | None = None, *content: Content | None) -> Element:
    """Return an element.

    Args:
        name: of the element.
        attributes: by name; numbers are coordinates.
        content: texts and elements, in order. None is passed over.
    """
    made = Element(name)
    for key, value in (attributes or {}).items():
        made.set(key, fit(value) if isinstance(value, str) else number(value))
    for each in content:
        if isinstance(each, str):
            _add_text(made, fit(each))
        elif each is not None:
            made.append(each)
    return made


def _add_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def page(root: Element) -> str:
    """Return an HTML document."""
    return f"<!doctype html>\n{ElementTree.tostring(root, encoding='unicode', method='html')}\n"


def picture(root: Element) -> str:
    """Return an SVG document; its root names `SVG` as its namespace."""
    return f"{ElementTree.tostring(root, encoding='unicode')}\n"
