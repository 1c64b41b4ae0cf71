#!/bin/bash
# PostgreSQL: initdb, pgbench with four clients, its books balanced afterwards, a parallel query, a crash
# restart, and every heap and index page checked. Rights are dropped before the preload is set.
# shellcheck source=tests/preload/lib.sh
. "$(dirname "$0")/lib.sh"

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -x "$bin/initdb" ] || fail "no PostgreSQL server is installed (scripts/bootstrap installs it)"
user=$(id -un)
[ "$(id -u)" != 0 ] || user=postgres
port=$(free_port)
data=$SCRATCH/data
mkdir "$data"
chmod 700 "$data"
[ "$(id -u)" != 0 ] || chown "$user" "$data"
cd "$data"
export PGHOST=127.0.0.1 PGPORT=$port PGUSER=$user PGDATABASE=postgres PGCONNECT_TIMEOUT=10

query() {
	"$bin/psql" -XAtq -v ON_ERROR_STOP=1 -c "$1"
}

log=$SCRATCH/witness
: >"$log"
chmod 666 "$log"
as_user "$user" env LD_PRELOAD="$WITNESS:$LIB" EBB_WITNESS_LOG="$log" "$bin/initdb" -D "$data" -A trust --no-sync \
	>"$SCRATCH/initdb.log" 2>&1 || fail "initdb failed"
assert_witnessed "$log" initdb
assert_witnessed "$log" postgres 2

start() {
	as_user "$user" env LD_PRELOAD="$LIB" "$bin/postgres" \
		-D "$data" -p "$port" -h 127.0.0.1 -k '' -c fsync=off -c max_connections=20 -c jit=off \
		-c min_parallel_table_scan_size=0 -c parallel_setup_cost=0 >>"$SCRATCH/postgres.log" 2>&1 </dev/null &
	SERVER=$!
	SERVERS+=("$SERVER")
	wait_tcp "$SERVER" "$port"
	for ((tick = 0; tick < 300; tick++)); do
		"$bin/pg_isready" -q && break
		sleep 0.1
	done
	assert_mapped "$SERVER" postmaster
}

start
"$bin/pgbench" -i -s 3 -q >"$SCRATCH/pgbench-i.log" 2>&1 || fail "pgbench -i failed"
"$bin/pgbench" -n -c 4 -j 1 -t 400 >"$SCRATCH/pgbench.log" 2>&1 || fail "pgbench failed"
grep -q 'number of transactions actually processed: 1600/1600' "$SCRATCH/pgbench.log" || fail "transactions are missing"

balance="SELECT (SELECT count(*) FROM pgbench_history), (SELECT count(*) FROM pgbench_accounts),
	(SELECT sum(delta) FROM pgbench_history) = (SELECT sum(abalance) FROM pgbench_accounts)
	AND (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(bbalance) FROM pgbench_branches)
	AND (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(tbalance) FROM pgbench_tellers)"
assert_equal "the books" "1600|300000|t" "$(query "$balance")"

# A backend says who it is and stays while its mappings are read; the crash below ends it.
exec 4< <("$bin/psql" -XAtq -c 'SELECT pg_backend_pid()' -c 'SELECT pg_sleep(60)')
read -r -u 4 backend
assert_mapped "$backend" backend
exec 4<&-

# Hash join, sort, aggregation and two parallel workers; the answer is worked out here as well.
plan=$(query "EXPLAIN SELECT count(*) FROM pgbench_accounts WHERE aid % 7 = 0")
[[ $plan == *Gather* ]] || fail "the query is not parallel: $plan"
assert_equal "parallel count" $((300000 / 7)) "$(query "SELECT count(*) FROM pgbench_accounts WHERE aid % 7 = 0")"
query "CREATE TABLE words AS SELECT g AS id, md5(g::text) AS word, repeat(md5(g::text), g % 100) AS text FROM generate_series(1, 20000) g;
	CREATE INDEX ON words (word); ANALYZE words;"
expected=$("$PYTHON" -I -c 'import hashlib
words = [hashlib.md5(str(g).encode()).hexdigest() for g in range(1, 20001)]
print(hashlib.md5("".join(sorted(w for g, w in enumerate(words, 1) if g % 3 == 0)).encode()).hexdigest())')
assert_equal "digest of a sorted join" "$expected" "$(query "SELECT md5(string_agg(a.word, '' ORDER BY a.word COLLATE \"C\"))
	FROM words a JOIN words b USING (word) WHERE b.id % 3 = 0")"
assert_equal "regular expressions" 20000 "$(query "SELECT count(*) FROM words WHERE text ~ '^([0-9a-f]{32})*\$'")"

# A backend is killed: the postmaster throws shared memory away and recovers by itself.
exec 4< <("$bin/psql" -XAtq -c 'SELECT pg_backend_pid()' -c 'SELECT pg_sleep(20)' 2>&1)
read -r -u 4 backend
kill -KILL "$backend"
exec 4<&-
for ((tick = 0; tick < 300; tick++)); do
	sleep 0.1
	(($(grep -c 'ready to accept connections' "$SCRATCH/postgres.log") == 2)) && break
done
assert_equal "the books after a crash" "1600|300000|t" "$(query "$balance")"
"$bin/pg_amcheck" --install-missing --heapallindexed >"$SCRATCH/amcheck.log" 2>&1 || fail "pg_amcheck found damage"
query 'VACUUM FULL ANALYZE' || fail "vacuum"
assert_equal "the books after a vacuum" "1600|300000|t" "$(query "$balance")"
stop_server "$SERVER" 0
