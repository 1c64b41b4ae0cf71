#!/bin/bash
# scripts/demo from outside: a quick round gives the table and the conclusion whatever tunes the shell; a
# taken port and wrong usage are one clear line; an interrupted demo leaves no server behind.
set -u

: "${EBB_SOURCE_DIR:?}" "${EBB_BIN_DIR:?}"
demo=$EBB_SOURCE_DIR/scripts/demo
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ebb-demo.XXXXXX")
listener=
trap '[ -z "$listener" ] || kill "$listener"; rm -rf "$scratch"' EXIT

fail() {
	echo "FAIL: $*" >&2
	cat "$scratch/out" "$scratch/err" >&2 2>/dev/null
	exit 1
}

# run STATUS ARGUMENT...: stdout and stderr go to files.
run() {
	local wanted=$1 status
	shift
	timeout -k 10 800 "$demo" "$@" --build "$(dirname "$EBB_BIN_DIR")" --keep "$scratch/keep" >"$scratch/out" 2>"$scratch/err"
	status=$?
	[ $status = "$wanted" ] || fail "scripts/demo $*: exit $status, expected $wanted"
}

# Servers over our own book only: their pids.
servers() {
	local environment
	for environment in /proc/[0-9]*/environ; do
		tr '\0' '\n' 2>/dev/null <"$environment" | grep -qxF "HOME=$scratch/keep" || continue
		environment=${environment#/proc/}
		echo "${environment%/environ}"
	done
}

run 2 --rounds many
grep -q '^demo: --rounds wants a number' "$scratch/err" || fail "no word about --rounds"
run 2 --none
grep -q '^demo: unknown option: --none' "$scratch/err" || fail "no word about --none"

python3 -I -c '
import socket, sys, time
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
open(sys.argv[1], "w").write(str(listener.getsockname()[1]))
time.sleep(300)' "$scratch/port" &
listener=$!
for _ in {1..100}; do [ -s "$scratch/port" ] && break; sleep 0.1; done
port=$(cat "$scratch/port")
run 1 --quick --port "$port"
grep -q "^demo: port $port of 127.0.0.1 is in use" "$scratch/err" || fail "no word about the taken port"

mkdir "$scratch/bin"
printf '#!/bin/sh\necho Filesystem\necho none 99999 89999 9999 90 /\n' >"$scratch/bin/df"
chmod +x "$scratch/bin/df"
PATH=$scratch/bin:$PATH run 1 --quick
grep -q "^demo: low disk: 9 MiB free in $scratch/keep, 100 are needed" "$scratch/err" || fail "no word about the low disk"

# A shell full of tuning changes nothing.
export RUBY_GC_MALLOC_LIMIT=1 RUBYOPT=-w MALLOC_ARENA_MAX=1 MALLOC_CONF=nonsense:1 WEB_CONCURRENCY=3 EBB_CONF=nonsense:1
run 0 --quick --rest 1s
for label in glibc ebb; do
	grep -q "$label" "$scratch/out" || fail "$label is not in the report"
done
grep -q '^After the same hundred requests the server rests at (MiB): glibc [0-9]*, Ebb [0-9]*\.' "$scratch/out" || fail "no conclusion"
grep -q 'run 2 of 2: Ebb: boot [0-9]*, peak [0-9]*, resting [0-9]* MiB, of which [0-9]* live and [0-9]* held; load' "$scratch/err" ||
	fail "no figures of Ebb's own"
grep -q nonsense "$scratch"/keep/*.log && fail "the shell's tuning reached a server"
[ "$(find "$scratch/keep" -name '*.json' | wc -l)" = 2 ] || fail "the results were not kept"
[ -z "$(servers)" ] || fail "a server is still there: $(servers)"

"$demo" --quick --build "$(dirname "$EBB_BIN_DIR")" --keep "$scratch/keep" >"$scratch/out" 2>"$scratch/err" &
interrupted=$!
for _ in {1..300}; do
	[ -n "$(servers)" ] && break
	sleep 0.1
done
[ -n "$(servers)" ] || fail "no server came up"
sleep 1
kill -TERM $interrupted
wait $interrupted
status=$?
[ $status = 143 ] || fail "an interrupted demo: exit $status"
grep -q '^demo: interrupted' "$scratch/err" || fail "no word about the interruption"
[ -z "$(servers)" ] || fail "a server outlived the demo: $(servers)"
echo "the demo: table, conclusion, messages and end are right"
