"""Write our schemas, and files that they accept, into a checkout of SchemaStore: `python -m tools.schemastore DIR`.

`deploy/schemastore` has the entries for the lists there, which are edited by hand (docs/releasing.md).
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CATALOG = ROOT / "deploy/schemastore/catalog.json"
_PREFIX = "xs2a-sandbox-"
_EXAMPLES = {"cassette": "cassettes/cases/example.yaml", "testdata": "cassettes/testdata.yaml", "config": ""}
_CONFIG = "dialect: berlin-group-1.3\nport: 8081\nprofile: strict\n"


def files() -> dict[str, str]:
    """Return the content of the files by their paths in the checkout."""
    written = {}
    for entry in json.loads(CATALOG.read_text()):
        name = entry["url"].rpartition("/")[2]
        kind = name.removeprefix(_PREFIX).removesuffix(".json")
        schema = json.loads((ROOT / f"schemas/{kind}.schema.json").read_text())
        schema["$id"] = entry["url"]
        written[f"src/schemas/json/{name}"] = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        example = (ROOT / _EXAMPLES[kind]).read_text() if _EXAMPLES[kind] else _CONFIG
        # The line names a schema next to the file, which is not there.
        lines = [line for line in example.splitlines(keepends=True) if "yaml-language-server:" not in line]
        written[f"src/test/{name.removesuffix('.json')}/{kind}.yaml"] = "".join(lines)
    return written


def main(checkout: Path) -> None:
    if not (checkout / "src/api/json/catalog.json").is_file():
        sys.exit(f"schemastore: {checkout} is not a checkout of SchemaStore: it has no src/api/json/catalog.json")
    for name, text in files().items():
        file = checkout / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        print(f"wrote {file}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tools.schemastore DIR")
    main(Path(sys.argv[1]))
