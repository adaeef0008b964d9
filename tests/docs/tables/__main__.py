"""Write the tables into their pages."""

from tests.docs.tables import PARTS
from tests.docs.tables.part import PAGES


def main() -> None:
    for page in dict.fromkeys(part.page for part in PARTS):
        path = PAGES / page
        text = path.read_text(encoding="utf-8")
        for part in PARTS:
            text = part.put(text) if part.page == page else text
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
