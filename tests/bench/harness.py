#!/usr/bin/python3
"""The harness itself: statistics, tables, markers, and that a preload which did not take is a failure."""

import json
import os
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "alloc"))

from harness import catalogue, joining, main, peers, placement, runner, stats, tables  # noqa: E402


def run_of(cpu):
    return {"cpu_s": cpu, "wall_s": cpu, "peak_kib": 2048, "faults": 1000}


def rest_of(ratio):
    sample = {"anon_kib": 1024, "ratio": ratio}
    return {
        "floor_kib": 1024,
        "peak_kib": 4096,
        "rest_cpu_us": 3000,
        "rest": [dict(sample, at_s=at) for at in (1.0, 2.0, 5.0)],
    }


def life_of(anon_kib):
    return dict(
        rest_of(1.5), faults=2000, work_cpu_us=3e6, late_ticks=0, minutes=[[anon_kib, 1024]] * 59 + [[anon_kib, 512]]
    )


def document():
    return {
        "facts": dict.fromkeys(
            "date cpu cpus memory system kernel thp overcommit compiler load_before".split(), "x"
        ),
        "command": "scripts/bench",
        "baseline": "mimalloc",
        "scale": "1",
        "rounds": {"speed": 3, "rest": 1},
        "peers": [{"name": n, "version": "1", "env": ""} for n in ("mimalloc", "ebb")],
        "programs": [vars(p) for p in catalogue.read()],
        "speed": {
            "pair": {"mimalloc": [run_of(c) for c in (1, 2, 9)], "ebb": [run_of(c) for c in (1, 1, 1)]},
            "ring": {"mimalloc": [run_of(1)], "ebb": [run_of(2)]},
        },
        "rest": {"a-cycles": {"mimalloc": [rest_of(8.0)], "ebb": [rest_of(1.04), rest_of(1.1)]}},
        "life": {"hour": {"mimalloc": [life_of(3072)], "ebb": [life_of(2048), life_of(4096)]}},
    }


class Statistics(unittest.TestCase):
    def test_median_and_range(self):
        self.assertEqual(stats.summary([3, 1, 2]), {"median": 2, "min": 1, "max": 3, "n": 3})

    def test_geomean(self):
        self.assertAlmostEqual(stats.geomean([0.5, 2.0]), 1.0)

    def test_ratio_of_medians(self):
        doc = document()
        self.assertEqual(stats.ratios(doc["speed"], ["pair", "ring"], "ebb", "mimalloc"), {"pair": 0.5, "ring": 2.0})


class Tables(unittest.TestCase):
    def test_losses_stand_beside_wins(self):
        said = tables.losses(document())
        self.assertIn("faster (below 0.98): pair 0.50", said)
        self.assertIn("Slower (above 1.02): ring 2.00", said)

    def test_whole_document(self):
        body = tables.render(document())
        self.assertIn("geometric mean", body)
        self.assertIn("1.000", body)
        self.assertIn("1.0 (8.00)", body)
        self.assertIn("1.07 (1.04-1.10)", body)
        self.assertRegex(body, r"mean of the hour +\| +3\.0 \| +3\.0 \(2\.0-4\.0\)")
        self.assertRegex(body, r"most / live that minute +\| +6\.00 \| +6\.00 \(4\.00-8\.00\)")
        self.assertRegex(body, r"\| 60 +\| +0 \| +3 \| +2 \|")

    def test_markers(self):
        text = f"before\n{tables.BEGIN}\nold\n{tables.END}\nafter\n"
        new = tables.replace_between(text, "new\n")
        self.assertNotIn("old", new)
        self.assertTrue(new.startswith("before\n") and new.endswith("\nafter\n"))
        with self.assertRaises(ValueError):
            tables.replace_between("no markers", "new")

    def test_published_page_has_the_markers(self):
        tables.replace_between((ROOT / "docs" / "benchmarks.md").read_text(), "x")


class Joining(unittest.TestCase):
    def test_pieces_become_one(self):
        first, second = document(), document()
        second["speed"] = {"ring": {"mimalloc": [run_of(3)], "ebb": [run_of(3)]}}
        for doc in (first, second):
            doc["facts"]["load_before"] = "0.5 0 0"
        whole = joining.joined([first, second])
        self.assertEqual([run["cpu_s"] for run in whole["speed"]["ring"]["ebb"]], [2, 3])
        self.assertEqual(whole["rounds"]["speed"], 2)

    def test_other_machines_do_not_join(self):
        other = document()
        other["facts"]["kernel"] = "another"
        with self.assertRaises(joining.NotAlike):
            joining.joined([document(), other])


    def test_file_directory_and_neither(self):
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory, "results.json")
            for text in (None, "no json", "[]", "{}"):
                if text is not None:
                    file.write_text(text)
                with self.assertRaises(joining.Unreadable):
                    joining.load(directory)
            file.write_text(json.dumps(document()))
            self.assertEqual(joining.load(directory), joining.load(str(file)))
        with self.assertRaises(joining.Unreadable):
            joining.load("/nonexistent")


class Peers(unittest.TestCase):
    def test_unknown_peer_and_path(self):
        with self.assertRaises(peers.MissingPeer):
            peers.collect(["nosuch"], [], [], ROOT, "/nonexistent")
        with self.assertRaises(peers.MissingPeer):
            peers.collect([], ["mine=/nonexistent.so"], [], ROOT, "/nonexistent")

    def test_setting_reaches_the_peer(self):
        (peer,) = peers.collect(["glibc"], [], ["glibc:MALLOC_ARENA_MAX=2"], ROOT, "/nonexistent")
        self.assertEqual(peer.env, {"MALLOC_ARENA_MAX": "2"})
        self.assertIsNone(peer.library)

    def test_published_command_has_no_directory(self):
        self.assertEqual(main.shown_arguments(["--peer", "mi=/somewhere/libmi.so"]), ["--peer", "mi=libmi.so"])


class Catalogue(unittest.TestCase):
    def test_every_source_is_listed_once(self):
        listed = {(p.kind, p.command[0]) for p in [*catalogue.read(), *placement.PROGRAMS]}
        sources = set()
        for kind in ("speed", "rest", "life"):
            for path in (ROOT / "bench" / "alloc" / kind).iterdir():
                if path.suffix in (".c", ".cpp") and path.name != "rest.c":
                    sources.add((kind, path.stem))
        self.assertEqual(listed, sources)
        names = [(p.kind, p.name) for p in catalogue.read()]
        self.assertEqual(len(names), len(set(names)))


class Runner(unittest.TestCase):
    """A stand-in for the launcher prints what the real one would."""

    def run_with(self, script):
        with tempfile.TemporaryDirectory() as directory:
            launch = os.path.join(directory, "launch")
            pathlib.Path(launch).write_text("#!/bin/sh\n" + script)
            os.chmod(launch, 0o755)
            (peer,) = peers.collect(["glibc"], [], [], ROOT, "/nonexistent")
            return runner.run(directory, peer, catalogue.read()[0], [])

    def test_result(self):
        launch = '{"launch":1,"wall_ns":1000000000,"user_us":500000,"sys_us":250000,"minflt":7,"majflt":0}'
        result = self.run_with(f"""echo '{{"name":"pair","peak_kib":10}}'; echo '{launch}'""")
        self.assertEqual(result["cpu_s"], 0.75)
        self.assertEqual(result["faults"], 7)

    def test_failure_is_not_a_result(self):
        with self.assertRaises(runner.RunFailed) as raised:
            self.run_with("echo 'bench: the preload did not take' >&2; exit 3")
        self.assertIn("did not take", str(raised.exception))

    def test_silence_is_not_a_result(self):
        with self.assertRaises(runner.RunFailed):
            self.run_with("exit 0")


class Placement(unittest.TestCase):
    def test_a_cell_is_pages_with_range_and_their_ratio_to_live_bytes(self):
        runs = [{"pages_kib": pages, "live_kib": 1024} for pages in (4096, 2048, 3072)]
        self.assertEqual(placement.cell(runs), "3.0 (2.0-4.0) x3.0")

    def test_every_program_has_a_row(self):
        who = [peers.Peer("a", None, "a", "1"), peers.Peer("b", None, "b", "1")]
        runs = {peer.name: [{"pages_kib": 2048, "live_kib": 1024}] for peer in who}
        text = placement.render({program.name: runs for program in placement.PROGRAMS}, who)
        for program in placement.PROGRAMS:
            self.assertIn(f"| {program.name} ", text)


if __name__ == "__main__":
    unittest.main()
