# shellcheck shell=bash
# lib.sh: what every test in this directory sources first.
#
# Owns: the test's scratch directory, the servers it starts, their end, and the two assertions
# that make a preload test mean something: the allocator was mapped in the process that did the
# work, and the work came out right.
#
# Needs: EBB_LIB      the allocator under test (libebb.so; another allocator's .so validates the
#                     tests themselves)
#        EBB_HELPERS  the directory of the compiled helpers (witness.so, churn, ...)
#
# Never sets LD_PRELOAD for the shell itself: only `preloaded` and `start_server` hand it to the
# command they start. Errors: `fail MESSAGE` says what went wrong, shows the servers' logs and
# ends the test with status 1.

set -euo pipefail

: "${EBB_LIB:?path of the allocator to preload}"
: "${EBB_HELPERS:?directory of the compiled helpers}"

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PYTHON=/usr/bin/python3.11
[ -x "$PYTHON" ] || PYTHON=/usr/bin/python3

EBB_ORIGINAL=$(realpath -e "$EBB_LIB")
SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/ebb-preload.XXXXXX")
chmod 755 "$SCRATCH"
# A private copy: other users must be able to read it wherever the tree was checked out, and a
# rebuild while a test runs must not pull the library from under it.
LIB=$SCRATCH/$(basename "$EBB_ORIGINAL")
cp "$EBB_ORIGINAL" "$LIB"
chmod 755 "$LIB"
WITNESS=$SCRATCH/witness.so
cp "$EBB_HELPERS/witness.so" "$WITNESS"
chmod 755 "$WITNESS"

SERVERS=()
export LC_ALL=C TZ=UTC

note() {
	printf '%s\n' "$*"
}

fail() {
	local log
	printf 'FAIL: %s\n' "$*" >&2
	for log in "$SCRATCH"/*.log; do
		[ -s "$log" ] || continue
		printf -- '--- last lines of %s\n' "${log##*/}" >&2
		tail -n 25 "$log" >&2
	done
	exit 1
}

# A tool without which the test could only pretend.
need() {
	local tool
	for tool in "$@"; do
		command -v "$tool" >/dev/null || fail "$tool is not installed (scripts/bootstrap installs it)"
	done
}

cleanup() {
	local status=$? pid
	trap - EXIT
	for pid in "${SERVERS[@]}"; do
		[ -n "$pid" ] && stop_pid "$pid" || true
	done
	if [ "${EBB_KEEP:-0}" = 1 ]; then
		note "kept $SCRATCH"
	else
		rm -rf "$SCRATCH"
	fi
	exit "$status"
}
trap cleanup EXIT
trap 'exit 143' TERM INT

# TERM, then KILL after ten seconds. Only ever a child of this shell.
stop_pid() {
	local pid=$1 tick
	kill -TERM "$pid" 2>/dev/null || { wait "$pid" 2>/dev/null; return 0; }
	for ((tick = 0; tick < 100; tick++)); do
		kill -0 "$pid" 2>/dev/null || break
		# A zombie still answers kill -0.
		case $(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null) in Z*|'') break ;; esac
		sleep 0.1
	done
	if ((tick == 100)); then
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
		return 137
	fi
	wait "$pid" 2>/dev/null
}

# preloaded COMMAND...: run it under the allocator, and nothing else.
preloaded() {
	env LD_PRELOAD="$LIB" "$@"
}

# witnessed LOG COMMAND...: the same, and every process image on the way writes to LOG which
# object serves its malloc (see witness.c).
witnessed() {
	local log=$1
	shift
	env LD_PRELOAD="$WITNESS:$LIB" EBB_WITNESS_LOG="$log" "$@"
}

# assert_witnessed LOG NAME [LEAST]: at least LEAST (default 1) process images called NAME ran, and
# in every image in LOG, whatever its name, malloc, free and realloc were the allocator's.
assert_witnessed() {
	local log=$1 name=$2 least=${3:-1} seen wrong
	[ -s "$log" ] || fail "no process reported itself: the preload did not take"
	wrong=$(awk -F '\t' -v lib="$LIB" '$3 != lib || $4 != lib || $5 != lib { print; if (++n == 3) exit }' "$log")
	[ -z "$wrong" ] || fail "another malloc served: $wrong"
	seen=$(awk -F '\t' -v name="$name" '{ n = $2; sub(".*/", "", n) } n ~ "^(" name ")$" { c++ } END { print c + 0 }' "$log")
	((seen >= least)) || fail "$name ran $seen times under the allocator, expected at least $least"
	note "witnessed: $seen x $name, all on ${LIB##*/} ($(wc -l <"$log") process images in all)"
}

# assert_mapped PID [WHAT]: the allocator is mapped in that process, executable, and nothing
# before it in the lookup order defines malloc.
assert_mapped() {
	local pid=$1 what=${2:-process} verdict
	verdict=$("$PYTHON" -I "$HERE/detect.py" --library "$LIB" "$pid") || true
	case $verdict in
	served-by-preload*) note "$what $pid: $verdict" ;;
	*) fail "$what $pid is not served by ${LIB##*/}: $verdict" ;;
	esac
}

# assert_equal WHAT EXPECTED ACTUAL
assert_equal() {
	[ "$2" = "$3" ] || fail "$1: expected '$2', got '$3'"
}

sha() {
	sha256sum "$@" | cut -d ' ' -f 1
}

# A port that was free a moment ago; every server here is told its port, and a lost race shows as
# a server that does not get ready.
free_port() {
	"$PYTHON" -I -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# start_server NAME COMMAND...: in the background under the allocator; sets SERVER to its pid and
# writes its output to $SCRATCH/NAME.log.
start_server() {
	local name=$1
	shift
	env LD_PRELOAD="$LIB" "$@" >"$SCRATCH/$name.log" 2>&1 </dev/null &
	SERVER=$!
	SERVERS+=("$SERVER")
}

# wait_tcp PID PORT: until something listens there, at most 60 seconds.
wait_tcp() {
	local pid=$1 port=$2 tick
	for ((tick = 0; tick < 600; tick++)); do
		kill -0 "$pid" 2>/dev/null || fail "the server on port $port ended before it was ready"
		if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
			return 0
		fi
		sleep 0.1
	done
	fail "nothing listens on port $port after 60 s"
}

# stop_server PID [STATUS...]: TERM, and its exit status must be one of STATUS (default 0).
stop_server() {
	local pid=$1 status=0 i
	shift
	stop_pid "$pid" || status=$?
	for i in "${!SERVERS[@]}"; do
		[ "${SERVERS[$i]}" = "$pid" ] && unset "SERVERS[$i]"
	done
	for i in "${@:-0}"; do
		[ "$i" = "$status" ] && return 0
	done
	fail "server $pid ended with status $status, expected ${*:-0}"
}

# children PID: its direct children.
children() {
	cat /proc/"$1"/task/*/children 2>/dev/null
}

# as_user NAME COMMAND...: drop rights first, then let the command (which sets its own preload)
# run; programs that drop rights are tested on their own in rights.sh. In the background, it is the
# process itself ($!), not a shell around it.
as_user() {
	local user=$1
	shift
	if [ "$(id -u)" = 0 ]; then
		exec_in_background setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups "$@"
	else
		exec_in_background "$@"
	fi
}

# A function run with & is a shell of its own: let the command take its place there.
exec_in_background() {
	if [ "$BASHPID" != $$ ]; then
		exec "$@"
	fi
	"$@"
}
