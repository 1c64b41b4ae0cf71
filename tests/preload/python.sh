#!/bin/bash
# python3: parts of its own test suite, or a program whose digest must be the one it has without us.
#
#   python.sh suite    the suite as it is
#   python.sh malloc   with PYTHONMALLOC=malloc: every object comes from us
#   python.sh work     threads, forked and spawned workers
#   python.sh long     the modules that take minutes
# shellcheck source=tests/preload/lib.sh
. "$(dirname "$0")/lib.sh"
[ -d /usr/lib/python3.11/test ] || fail "python3.11's test suite is not installed (scripts/bootstrap installs it)"

# The suite's runner, after the process has made sure of its own malloc.
cat >"$SCRATCH/suite.py" <<'END'
import os, sys
# Spawned workers import this file again: they must not run the suite.
if __name__ == "__main__":
    if os.environ["SUITE_LIBRARY"] not in open("/proc/self/maps").read():
        sys.exit("the allocator is not mapped")
    from test.libregrtest import main
    main()
END

# Left out: the second run of a class, which is about select in place of poll, and tests that fail where a child does
# not come to run within the seconds they give it.
ignored=(ProcessTestCaseNoPoll test_check_output_timeout test_run_with_shell_timeout_and_capture_output)

suite() { # NAME "ENVIRONMENT" LEAST-TESTS MODULE...
	local name=$1 environment=$2 least=$3 count
	shift 3
	cd "$SCRATCH"
	local log=$SCRATCH/witness-$name
	# shellcheck disable=SC2086 # the environment is words
	witnessed "$log" env $environment SUITE_LIBRARY="$LIB" "$PYTHON" "$SCRATCH/suite.py" --junit-xml "$SCRATCH/$name.xml" \
		--timeout 1200 "${ignored[@]/#/--ignore=}" "$@" >"$SCRATCH/$name.log" 2>&1 || fail "python's test suite ($name)"
	grep -qx 'Tests result: SUCCESS' "$SCRATCH/$name.log" || fail "$name: no success reported"
	grep -qxE "All $# tests OK\.|[0-9]+ tests? OK\." "$SCRATCH/$name.log" || fail "$name: not all modules ran"
	! grep -qE 'tests? failed|tests? skipped' "$SCRATCH/$name.log" || fail "$name: modules failed or were skipped"
	count=$(grep -o '<testcase ' "$SCRATCH/$name.xml" | wc -l)
	((count >= least)) || fail "$name: $count test cases ran, expected at least $least"
	note "$name: $# modules, $count test cases"
	assert_witnessed "$log" 'python3.*'
}

work() {
	local log=$SCRATCH/witness expected
	cat >"$SCRATCH/work.py" <<'END'
import concurrent.futures, hashlib, json, multiprocessing, os, zlib

def part(number):
    rows = [{"id": i, "text": "row %d " % i * (i % 40), "values": list(range(i % 50))} for i in range(number, number + 400)]
    text = json.dumps(rows)
    assert json.loads(text) == rows
    assert zlib.decompress(zlib.compress(text.encode())) == text.encode()
    return hashlib.sha256(text.encode()).hexdigest()

if __name__ == "__main__":
    digest = hashlib.sha256()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for text in pool.map(part, range(120)):
            digest.update(text.encode())
    with multiprocessing.get_context("fork").Pool(3) as pool:
        for text in pool.map(part, range(60)):
            digest.update(text.encode())
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for text in pool.map(part, range(10)):
            digest.update(text.encode())
    print(digest.hexdigest())
END
	expected=$("$PYTHON" "$SCRATCH/work.py")
	assert_equal "digest of python's work" "$expected" "$(witnessed "$log" "$PYTHON" "$SCRATCH/work.py")"
	assert_equal "digest with PYTHONMALLOC=malloc" "$expected" \
		"$(witnessed "$log" env PYTHONMALLOC=malloc "$PYTHON" "$SCRATCH/work.py")"
	assert_witnessed "$log" 'python3.*' 6
}

case $1 in
suite)
	suite plain '' 1500 test_json test_threading test_subprocess test_re test_collections test_fork1 test_ctypes \
		test_thread test_mmap test_zlib test_hashlib test_gc
	;;
malloc)
	suite malloc PYTHONMALLOC=malloc 3000 test_json test_re test_collections test_dict test_list test_set test_gc \
		test_bytes test_unicode test_itertools test_ctypes test_decimal test_struct test_pickle test_thread
	;;
long)
	# Not test_concurrent_futures: it holds a busy machine to its own deadlines.
	suite long '' 4000 test_io test_asyncio test_multiprocessing_fork test_multiprocessing_forkserver test_ssl test_lzma \
		test_queue test_bz2 test_signal test_faulthandler
	;;
work)
	work
	;;
esac
