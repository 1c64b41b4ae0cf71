"""programs.list, read."""

import pathlib
import re
from dataclasses import dataclass

LIST = pathlib.Path(__file__).resolve().parent.parent / "programs.list"


@dataclass(frozen=True)
class Program:
    kind: str  # speed or rest
    name: str
    command: tuple  # the program below <build>/bench/<kind>/ and its arguments
    what: str


def read(path=LIST):
    programs = []
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            kind, name, command, what = (part.strip() for part in line.split("|"))
            programs.append(Program(kind, name, tuple(command.split()), what))
    return programs


def select(kind, pattern):
    return [p for p in read() if p.kind == kind and (pattern is None or re.search(pattern, p.name))]
