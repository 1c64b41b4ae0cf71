#!/usr/bin/python3
"""The harness of bench/real itself: what it must refuse, its verdicts, and that its inputs never change."""

import contextlib
import hashlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "alloc"), str(ROOT / "bench")]

from harness import peers  # noqa: E402
from real import inputs, main, once, served, tables, workloads  # noqa: E402


def document(**cpu):
    """One workload "x" with these CPU seconds by peer."""
    return {
        "facts": dict.fromkeys("date cpus cpu system kernel thp load_before".split(), "x"),
        "peers": [{"name": name, "version": "1", "env": ""} for name in cpu],
        "scale": 1,
        "command": "scripts/bench-real",
        "versions": {"x": "1"},
        "runs": {"x": {name: [{"cpu_s": c, "wall_s": c, "peak_mib": 1.0, "output": "o"} for c in values] for name, values in cpu.items()}},
    }


class Verdicts(unittest.TestCase):
    def rows(self, **cpu):
        return list(tables.verdict_rows(document(**cpu), "ebb"))

    def test_ratios_are_made_round_by_round(self):
        self.assertEqual(self.rows(a=[1.0, 2.0, 10.0], ebb=[1.0, 2.0, 10.0])[0][1:], ["1.00 (1.00-1.00)", "yes"])

    def test_two_percent(self):
        self.assertEqual(self.rows(a=[2.0], b=[1.0], ebb=[1.02]), [["x", "0.51 (0.51-0.51)", "1.02 (1.02-1.02)", "yes"]])

    def test_slower_than_one_peer_is_a_no(self):
        self.assertEqual(self.rows(a=[2.0] * 5, b=[1.0] * 5, ebb=[1.03, 1.04, 1.05, 1.06, 1.07])[0][-1], "no")

    def test_a_wide_range_is_unclear(self):
        self.assertEqual(self.rows(a=[1.0] * 5, ebb=[0.9, 1.0, 1.05, 1.1, 1.2])[0][-1], "unclear")

    def test_tables_show_every_peer(self):
        body = tables.render(document(a=[1.0], ebb=[2.0]))
        self.assertIn("1.000 (1.000-1.000)", body)
        self.assertIn("2.000 (2.000-2.000)", body)


class Joining(unittest.TestCase):
    def test_runs_come_together(self):
        joined = main.join([document(a=[1.0], ebb=[2.0]), document(a=[3.0], ebb=[4.0])])
        self.assertEqual([run["cpu_s"] for run in joined["runs"]["x"]["ebb"]], [2.0, 4.0])
        self.assertIn("Runs each: 2,", tables.render(joined))

    def test_other_peers_or_outputs_are_refused(self):
        with self.assertRaisesRegex(once.RunFailed, "other peers"):
            main.join([document(a=[1.0]), document(b=[1.0])])
        other = document(a=[1.0])
        other["runs"]["x"]["a"][0]["output"] = "another"
        with self.assertRaisesRegex(once.RunFailed, "different outputs"):
            main.join([document(a=[1.0]), other])


class Refusals(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = pathlib.Path(scratch.name)
        self.job = workloads.Job("/usr/bin/sqlite3", [":memory:"], ["-version"])

    def test_a_library_that_does_not_answer_malloc(self):
        libm = peers.from_path("libm", "/lib/x86_64-linux-gnu/libm.so.6") if pathlib.Path(
            "/lib/x86_64-linux-gnu/libm.so.6").exists() else peers.from_path("libm", "/lib/aarch64-linux-gnu/libm.so.6")
        with self.assertRaisesRegex(once.RunFailed, "malloc is answered by .*libc"):
            once.check_served(libm, self.job, self.directory)

    def test_libc_answers_without_a_preload(self):
        once.check_served(peers.known("glibc", ROOT, ""), self.job, self.directory)

    def test_another_output_is_a_failure(self):
        bench = main.Bench.__new__(main.Bench)
        bench.jobs = {"x": (self.job, self.directory)}
        bench.outputs = {"x": ("first", "one")}
        bench.launch, bench.args = None, None
        workload = workloads.Workload("x", "", "", lambda *_: None, ())
        original, once.run = once.run, lambda *_: {"output": "other"}
        self.addCleanup(setattr, once, "run", original)
        with self.assertRaisesRegex(once.RunFailed, "second puts out other, first one"):
            bench.run(workload, peers.Peer("second", None, "", ""))

    def test_no_output_is_a_failure(self):
        with self.assertRaisesRegex(once.RunFailed, "nothing"):
            once.digest_of(b"", self.directory, "*.png")

    def test_an_unknown_peer_is_one_line(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertEqual(main.main(["--peers", "nobody"]), 1)
        self.assertEqual(len(said.getvalue().splitlines()), 1)

    def test_nothing_to_run_is_a_failure(self):
        with tempfile.NamedTemporaryFile() as file, contextlib.redirect_stderr(io.StringIO()) as said:
            (self.directory / "bench").mkdir()
            (self.directory / "bench" / "launch").touch()
            self.assertEqual(main.main(["--only", "nosuch", "--peers", "glibc", "--build", str(self.directory),
                                        "--peer", f"x={file.name}", "--out", str(self.directory)]), 1)
        self.assertIn("nothing to run", said.getvalue())


class Inputs(unittest.TestCase):
    def test_same_bytes_everywhere(self):
        made = "".join(make(0.3) for make in (inputs.sql, inputs.c_source, inputs.postscript))
        again = "".join(make(0.3) for make in (inputs.sql, inputs.c_source, inputs.postscript))
        self.assertEqual(made, again)
        self.assertEqual(hashlib.sha256(made.encode()).hexdigest()[:16], "2e7240df3cc1d787")

    def test_each_key_of_redis_is_all_but_sure_to_be_written(self):
        for name, requests, keys, _ in served.PHASES:
            missed = keys * (1 - 1 / keys) ** requests if keys > 1 else 0
            self.assertLess(missed, 1e-4, name)


unittest.main(verbosity=2)
