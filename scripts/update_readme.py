#!/usr/bin/env python3
"""Puts the example program and what scripts/run.sh printed into README.md, between their markers.

    scripts/run.sh | tee scratch/run.txt; scripts/update_readme.py scratch/run.txt
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def block(text: str, name: str, language: str, body: str) -> str:
    """Replaces the fenced block that follows the marker <!-- name -->."""
    pattern = re.compile(rf"(<!-- {name} -->\n```){language}\n.*?\n```", re.S)
    if not pattern.search(text):
        sys.exit(f"README.md has no block <!-- {name} -->")
    return pattern.sub(lambda m: f"{m.group(1)}{language}\n{body.rstrip()}\n```", text)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    printed = pathlib.Path(sys.argv[1]).read_text()
    start = printed.find("== Where reading back")
    if start < 0:
        sys.exit(f"{sys.argv[1]} does not hold the output of scripts/run.sh")
    program = (ROOT / "examples/decide_once.cc").read_text()
    program = program[program.index("#include"):]
    readme = ROOT / "README.md"
    text = block(readme.read_text(), "decide_once", "cpp", program)
    text = block(text, "run", "", printed[start:])
    readme.write_text(text)


if __name__ == "__main__":
    main()
