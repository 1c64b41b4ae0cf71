#!/usr/bin/python3
"""Runs the cases of one group (all groups when none is named); the last line counts them."""

import importlib
import pathlib
import re
import sys
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import lib  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
MODULES = sorted(path.stem for path in HERE.glob("cases_*.py"))
# Listed once, where each is made a test.
GROUPS = re.search(r"foreach\(group ([^)]*)\)", (HERE / "CMakeLists.txt").read_text()).group(1).split()


def cases(groups):
    for module in MODULES:
        for name, case in list(vars(importlib.import_module(module)).items()):
            group = name.split("_")[0]
            if callable(case) and getattr(case, "__module__", "") == module and group in groups:
                yield name, case


def main():
    groups = sys.argv[1:] or GROUPS
    passed = failed = 0
    for name, case in cases(groups):
        try:
            case()
            passed += 1
            print(f"ok    {name}", flush=True)
        except lib.Failed as error:
            failed += 1
            print(f"FAIL  {name}: {error}", flush=True)
        except Exception:  # a fault of the case itself
            failed += 1
            print(f"FAIL  {name}: {traceback.format_exc()}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
