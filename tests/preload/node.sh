#!/bin/bash
# node: an HTTP server with worker threads under load, every answer checked.
# shellcheck source=tests/preload/lib.sh
. "$(dirname "$0")/lib.sh"
need node

port=$(free_port)
start_server node node "$HERE/node-server.js" "$port"
wait_tcp "$SERVER" "$port"
assert_mapped "$SERVER" node

for round in 1 2; do
	"$PYTHON" -I "$HERE/load.py" --port "$port" --requests 2000 --connections 20 --computed >"$SCRATCH/answers" ||
		fail "round $round: $(cat "$SCRATCH/answers")"
	note "round $round: $(cat "$SCRATCH/answers")"
done
stop_server "$SERVER" 0

# The same runtime at other work: garbage, buffers, JSON, children; the digest must be the one
# that the program gives without us.
cat >"$SCRATCH/work.js" <<'END'
const crypto = require('crypto');
const zlib = require('zlib');
const { execFileSync } = require('child_process');
const hash = crypto.createHash('sha256');
let keep = [];
for (let i = 0; i < 300; i++) {
	const rows = Array.from({ length: 300 }, (_, j) => ({ id: i * j, name: `row ${i} ${j}`, tags: ['a', 'b', String(j)] }));
	const text = JSON.stringify(rows);
	const packed = zlib.deflateSync(Buffer.from(text));
	hash.update(packed);
	if (zlib.inflateSync(packed).toString() !== text) throw new Error('not the same after inflate');
	if (i % 7 === 0) keep.push(packed);
	if (i % 50 === 0) keep = keep.slice(-3);
}
for (let i = 0; i < 5; i++) hash.update(execFileSync(process.execPath, ['-p', `${i} * 3`]));
console.log(hash.digest('hex'));
END
log=$SCRATCH/witness
expected=$(node "$SCRATCH/work.js")
actual=$(witnessed "$log" node "$SCRATCH/work.js")
assert_equal "digest of node's work" "$expected" "$actual"
assert_witnessed "$log" node 6
