#!/bin/bash
# sqlite3: build a database, change it much, check it, and dump it; the dump must be the one that the same
# script gives without us.
# shellcheck source=tests/preload/lib.sh
. "$(dirname "$0")/lib.sh"
need sqlite3

cat >"$SCRATCH/work.sql" <<'END'
PRAGMA journal_mode = WAL;
PRAGMA cache_size = -4000;
CREATE TABLE event (id INTEGER PRIMARY KEY, kind TEXT, body TEXT, amount REAL);
INSERT INTO event
	WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120000)
	SELECT i, 'kind ' || (i % 97), substr(hex(i * 7919) || printf('%0*d', i % 300, i), 1, i % 300), i * 0.25 FROM n;
CREATE INDEX event_kind ON event (kind, amount);
CREATE INDEX event_body ON event (body);
UPDATE event SET body = body || ' changed', amount = amount + 1 WHERE id % 5 = 0;
DELETE FROM event WHERE id % 3 = 0;
CREATE TABLE total AS SELECT kind, count(*) AS n, sum(amount) AS amount, max(length(body)) AS longest FROM event GROUP BY kind ORDER BY kind;
CREATE VIRTUAL TABLE search USING fts5(body);
INSERT INTO search SELECT kind || ' ' || replace(substr(body, 1, 60), '0', ' ') FROM event WHERE id % 4 = 1;
SELECT 'found', count(*) FROM search WHERE search MATCH 'kind AND 42';
SELECT 'joined', count(*), sum(a.amount) FROM event a JOIN event b ON b.id = a.id + 1 WHERE a.kind < 'kind 5';
SELECT 'json', sum(json_extract(json_object('a', json_array(id, amount)), '$.a[1]')) FROM event;
WITH RECURSIVE f(i, a, b) AS (SELECT 0, 0, 1 UNION ALL SELECT i + 1, b, a + b FROM f WHERE i < 80) SELECT 'fibonacci', max(a) FROM f;
SELECT 'sorted', sum(i * (r % 1000)) FROM (SELECT id AS i, row_number() OVER (ORDER BY body DESC, id) AS r FROM event);
VACUUM;
PRAGMA integrity_check;
END
log=$SCRATCH/witness
run() { # NAME LAUNCHER...
	local name=$1
	shift
	"$@" sqlite3 -bail "$SCRATCH/$name.db" <"$SCRATCH/work.sql" >"$SCRATCH/$name.out"
	"$@" sqlite3 "$SCRATCH/$name.db" .dump | sha256sum >>"$SCRATCH/$name.out"
}
run reference env
run preload witnessed "$log"
grep -qx ok "$SCRATCH/preload.out" || fail "integrity_check: $(cat "$SCRATCH/preload.out")"
diff "$SCRATCH/reference.out" "$SCRATCH/preload.out" || fail "the answers differ"
cat "$SCRATCH/preload.out"
assert_witnessed "$log" sqlite3 2
