#!/bin/bash
# php: arrays, strings, regular expressions, JSON, and its extensions, which it opens with RTLD_DEEPBIND; then its own
# web server under load. The digest must be the one that it gives without us.
# shellcheck source=tests/preload/lib.sh
. "$(dirname "$0")/lib.sh"
need php

cat >"$SCRATCH/work.php" <<'END'
<?php
$digest = hash_init('sha256');
$table = [];
for ($i = 0; $i < 150000; $i++) {
	$table["k" . ($i % 5000)][] = str_repeat("v$i", $i % 7);
	if ($i % 3 == 0) unset($table["k" . (($i * 7) % 5000)]);
}
ksort($table);
hash_update($digest, json_encode($table));
for ($i = 0; $i < 2000; $i++) {
	preg_match_all('/(v\d+)+/', json_encode($table["k$i"] ?? []), $found);
	hash_update($digest, (string)count($found[0]));
}
hash_update($digest, serialize(unserialize(serialize(array_slice($table, 0, 500)))));
hash_update($digest, iconv('UTF-8', 'UTF-16LE', str_repeat("d\u{e9}j\u{e0} ", 2000)));
// Without PHP's own pools every object is a malloc of its own: run so as well, see below.
echo count(get_loaded_extensions()), ' ', hash_final($digest), "\n";
END
log=$SCRATCH/witness
expected=$(php "$SCRATCH/work.php")
[[ $expected =~ ^[0-9]+\ [0-9a-f]{64}$ ]] || fail "the test itself does not work: $expected"
assert_equal "digest of php's work" "$expected" "$(witnessed "$log" php "$SCRATCH/work.php")"
assert_equal "digest with USE_ZEND_ALLOC=0" "$expected" "$(witnessed "$log" env USE_ZEND_ALLOC=0 php "$SCRATCH/work.php")"
assert_witnessed "$log" 'php.*' 2

cat >"$SCRATCH/router.php" <<'END'
<?php
[, $verb, $number, $times] = explode('/', $_SERVER['REQUEST_URI'] . '//');
if ($_SERVER['REQUEST_METHOD'] === 'POST' && $verb === 'echo') {
	echo hash('sha256', file_get_contents('php://input'));
} elseif ($verb === 'h') {
	echo str_repeat(hash('sha256', $number), (int)$times);
} else {
	http_response_code(404);
}
END
port=$(free_port)
PHP_CLI_SERVER_WORKERS=3 start_server php php -d post_max_size=0 -S "127.0.0.1:$port" "$SCRATCH/router.php"
wait_tcp "$SERVER" "$port"
assert_mapped "$SERVER" php
# PHP leaves its workers behind when it ends: they are stopped as well, at the end.
for worker in $(children "$SERVER"); do
	SERVERS+=("$worker")
	assert_mapped "$worker" "php worker"
done
"$PYTHON" -I "$HERE/load.py" --port "$port" --requests 800 --connections 4 --computed >"$SCRATCH/answers" ||
	fail "$(cat "$SCRATCH/answers")"
note "$(cat "$SCRATCH/answers")"
stop_server "$SERVER" 0 143
