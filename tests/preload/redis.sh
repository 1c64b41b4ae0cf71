#!/bin/bash
# redis-server: benchmark load, then known data through a save, a fork and a restart.
#
# Debian's redis links libjemalloc.so.2 dynamically and its INFO speaks of jemalloc. The preload wins all
# the same: jemalloc stays mapped, and its own figure of what it serves stays next to nothing.
# shellcheck source=tests/preload/lib.sh
. "$(dirname "$0")/lib.sh"
need redis-server redis-cli redis-benchmark

port=$(free_port)
cli() {
	redis-cli -p "$port" "$@"
}
field() { # INFO section, field
	cli INFO "$1" | tr -d '\r' | sed -n "s/^$2://p"
}
start() {
	start_server redis redis-server --port "$port" --bind 127.0.0.1 --dir "$SCRATCH" --save '' \
		--enable-debug-command yes --io-threads 2 --activedefrag no
	wait_tcp "$SERVER" "$port"
	assert_mapped "$SERVER" redis-server
}

start
redis-benchmark -p "$port" -n 10000 -c 20 -P 8 -d 300 -r 5000 -q \
	-t set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,spop,zadd,zpopmin,lrange_100 >"$SCRATCH/benchmark.log" 2>&1 ||
	fail "redis-benchmark failed"
grep -q 'requests per second' "$SCRATCH/benchmark.log" || fail "redis-benchmark measured nothing"
! grep -qi error "$SCRATCH/benchmark.log" || fail "redis-benchmark saw errors"
cli FLUSHALL >/dev/null

# Known data: strings, hashes, lists and sorted sets, half of it deleted again.
"$PYTHON" -I - >"$SCRATCH/commands" <<'END'
def command(*parts):
    parts = [str(part).encode() for part in parts]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)

import sys
out = sys.stdout.buffer
for i in range(60000):
    out.write(command("SET", "s:%d" % i, ("%d " % i) * (i % 300 + 1)))
    out.write(command("HSET", "h:%d" % (i % 500), "f%d" % i, "v%d" % i))
    out.write(command("RPUSH", "l:%d" % (i % 50), "element %d" % i))
    out.write(command("ZADD", "z:%d" % (i % 20), i, "member %d" % i))
for i in range(0, 60000, 2):
    out.write(command("DEL", "s:%d" % i))
END
cli --pipe <"$SCRATCH/commands" >"$SCRATCH/pipe.log" || fail "mass insertion failed"
grep -q 'errors: 0, replies: 270000' "$SCRATCH/pipe.log" || fail "mass insertion: $(tail -n 1 "$SCRATCH/pipe.log")"
# One known value by hand (7 is odd, so that it stayed), a count, and everything by redis's own digest.
assert_equal "s:7" "7 7 7 7 7 7 7 7 " "$(cli --raw GET s:7)"
assert_equal "keys" 30570 "$(cli DBSIZE)"
digest=$(cli DEBUG DIGEST)
[[ $digest =~ ^[0-9a-f]{40}$ ]] || fail "no digest: $digest"

used=$(field memory used_memory)
jemalloc=$(cli MEMORY MALLOC-STATS | sed -n 's/^Allocated: \([0-9]*\),.*/\1/p')
note "redis uses $used bytes; jemalloc says it serves ${jemalloc:-nothing} of them"
((used > 20000000)) || fail "used_memory $used is too small for the data"
((${jemalloc:-0} < 1000000)) || fail "libjemalloc serves $jemalloc bytes: the preload did not win"

# A fork in the threaded server while it is written to.
cli BGSAVE >/dev/null
cli SET after fork >/dev/null
for ((tick = 0; tick < 300; tick++)); do
	[ "$(field persistence rdb_bgsave_in_progress)" = 0 ] && break
	sleep 0.1
done
assert_equal "background save" ok "$(field persistence rdb_last_bgsave_status)"
cli DEL after >/dev/null
cli DEBUG RELOAD >/dev/null
assert_equal "digest after DEBUG RELOAD" "$digest" "$(cli DEBUG DIGEST)"
cli MEMORY PURGE >/dev/null
cli SAVE >/dev/null
stop_server "$SERVER" 0
start
assert_equal "digest after a restart" "$digest" "$(cli DEBUG DIGEST)"
stop_server "$SERVER" 0
