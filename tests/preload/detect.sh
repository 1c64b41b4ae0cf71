#!/bin/bash
# Programs that the preload does not serve are named, with how it was seen, and never counted as served; and the
# dynamic linker's own account of a binding agrees with what these tests call served.
# shellcheck source=tests/preload/lib.sh
. "$(dirname "$0")/lib.sh"
need gcc busybox redis-server
cd "$SCRATCH"

verdict_of() {
	"$PYTHON" -I "$HERE/detect.py" --library "$LIB" "$1" || true
}
expect() { # WHAT PATTERN TARGET
	local verdict tick
	# A process that has just started may not have loaded everything yet.
	for ((tick = 0; tick < 50; tick++)); do
		verdict=$(verdict_of "$3")
		# shellcheck disable=SC2053 # a pattern
		[[ $verdict == $2 ]] && note "$1: $verdict" && return
		[[ $3 == */* ]] && break
		sleep 0.2
	done
	fail "$1: '$verdict' is not '$2'"
}
said() { # TEXT: the program observed printed it, or does within ten seconds
	local tick
	for ((tick = 0; tick < 100; tick++)); do
		grep -q "$1" observed.log && return
		sleep 0.1
	done
	return 1
}
start_observed() { # COMMAND...: sets SERVER once the program itself runs
	local tick
	env LD_PRELOAD="$LIB" "$@" >observed.log 2>&1 </dev/null &
	SERVER=$!
	SERVERS+=("$SERVER")
	for ((tick = 0; tick < 100; tick++)); do
		[ "$(readlink "/proc/$SERVER/exe")" != "$(readlink -f "$(command -v env)")" ] && return
		sleep 0.05
	done
	fail "$1 did not start"
}

# Served: what the dynamic linker says, symbol by symbol.
for program in sort bash perl; do
	LD_DEBUG=bindings LD_DEBUG_OUTPUT=$SCRATCH/bindings env LD_PRELOAD="$LIB" "$program" --version >/dev/null
	count=0
	for symbol in malloc free realloc calloc; do
		wrong=$(cat bindings.* | grep -F "symbol \`$symbol'" | grep -vF "to $LIB [0]" | grep -vE "binding file [^ ]*/(env|$program|lib[^ ]*) .* to (/[^ ]*/)?env " | grep -F " $program " || true)
		[ -z "$wrong" ] || fail "$program: $symbol is bound elsewhere: $wrong"
		count=$((count + $(cat bindings.* | grep -F "symbol \`$symbol'" | grep -cF "to $LIB [0]" || true)))
	done
	((count >= 4)) || fail "$program: the dynamic linker bound $count allocator symbols to ${LIB##*/}"
	note "$program: $count bindings of the malloc family, all to ${LIB##*/}"
	rm -f bindings.*
done
expect "an ordinary program" 'would-serve: *' "$(command -v sort)"
start_observed sleep 30
expect "an ordinary process" 'served-by-preload: *' "$SERVER"
sleep 30 &
other=$!
SERVERS+=("$other")
expect "a process without the preload" 'not-mapped: *' "$other"

# Static: no dynamic linker, no preload.
expect "busybox" 'static: no program interpreter*' "$(command -v busybox)"
start_observed "$(command -v busybox)" sleep 30
expect "busybox, running" 'static: no program interpreter*' "$SERVER"

# A malloc of its own: exported, hidden, static.
start_observed "$EBB_HELPERS/ownmalloc-exported" 30
expect "an exported malloc" 'own-malloc: *exports malloc*' "$SERVER"
said 'library=own' || fail "the exported malloc did not serve libc: $(cat observed.log)"
expect "an exported malloc, as a file" 'own-malloc: *' "$EBB_HELPERS/ownmalloc-exported"
start_observed "$EBB_HELPERS/ownmalloc-hidden" 30
expect "a hidden malloc" 'own-malloc-hidden: *' "$SERVER"
said 'library=foreign' || fail "the hidden malloc served libc: $(cat observed.log)"
expect "a static program with a malloc" 'static: *' "$EBB_HELPERS/ownmalloc-static"
# Stripped, nothing names it any more; what is left to see is that the program asks nobody for malloc.
cp "$EBB_HELPERS/ownmalloc-hidden" stripped
strip stripped
start_observed "$SCRATCH/stripped" 30
expect "a hidden malloc, stripped" '*does not import malloc*' "$SERVER"
# The witness that the other tests rely on must see a foreign malloc, too.
witnessed "$SCRATCH/witness" "$EBB_HELPERS/ownmalloc-exported" >/dev/null
(assert_witnessed "$SCRATCH/witness" ownmalloc-exported) >/dev/null 2>&1 && fail "the witness took a program's own malloc for ours"

# Second allocators beside ours.
port=$(free_port)
start_observed redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$SCRATCH"
expect "redis with jemalloc beside us" 'served-by-preload: *also *libjemalloc.so.2 is mapped beside it*' "$SERVER"
printf 'void *je_malloc(unsigned long n);\nvoid *je_malloc(unsigned long n) { return (void *)n; }\n' >prefixed.c
gcc -shared -fPIC prefixed.c -o prefixed.so
start_observed "$PYTHON" -I -c 'import ctypes, sys, time
ctypes.CDLL(sys.argv[1])
time.sleep(30)' "$SCRATCH/prefixed.so"
expect "a library with a prefixed malloc" 'served-by-preload: *also */prefixed.so has je_malloc of its own' "$SERVER"

# Another libc, another machine.
printf 'int main(void) { return 0; }\n' >main.c
gcc main.c -o musl -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1
expect "a program for musl" 'other-libc: *ld-musl*' "$SCRATCH/musl"
{ printf '\177ELF\1\1\1'; head -c 9 /dev/zero; printf '\2\0\3\0'; head -c 40 /dev/zero; } >i386
expect "a program for i386" 'other-machine: ELF class 1, machine 3*' "$SCRATCH/i386"

# Privileged: the dynamic linker ignores a preload with a path.
expect "su" 'secure: set-user-ID bit*' "$(command -v su)"
if [ "$(id -u)" = 0 ]; then
	cp "$(command -v sleep)" privileged
	chmod 4755 privileged
	env setpriv --reuid 65534 --regid 65534 --clear-groups env LD_PRELOAD="$LIB" "$SCRATCH/privileged" 30 >observed.log 2>&1 &
	SERVER=$!
	SERVERS+=("$SERVER")
	for ((tick = 0; tick < 100; tick++)); do
		[ "$(readlink "/proc/$SERVER/exe")" = "$SCRATCH/privileged" ] && break
		sleep 0.05
	done
	expect "a set-user-ID process" 'secure: AT_SECURE*' "$SERVER"
	# Run by root itself the same file is not privileged, and is served; its file alone cannot say that.
	start_observed "$SCRATCH/privileged" 30
	expect "the same file run by root" 'served-by-preload: *' "$SERVER"
fi
