#!/bin/bash
# memcached: four connections set, get and delete values of many sizes; every answer is checked.
# shellcheck source=tests/preload/lib.sh
. "$(dirname "$0")/lib.sh"
need memcached

port=$(free_port)
user=()
[ "$(id -u)" != 0 ] || user=(-u nobody)
start_server memcached memcached -l 127.0.0.1 -p "$port" -U 0 -m 256 -t 4 -I 2m "${user[@]}"
wait_tcp "$SERVER" "$port"
assert_mapped "$SERVER" memcached

"$PYTHON" -I - "$port" >"$SCRATCH/result" <<'END' || fail "$(cat "$SCRATCH/result")"
import hashlib
import random
import socket
import sys
import threading

def value_of(key, length):
    seed = hashlib.sha256(key.encode()).digest()
    return (seed * (length // 32 + 1))[:length]

def work(first, tally):
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
    stream = connection.makefile("rb")
    generator = random.Random(first)
    lengths = {}
    def ask(text):
        connection.sendall(text)
        return stream.readline().rstrip()
    for step in range(12000):
        key = "k%d:%d" % (first, generator.randrange(3000))
        choice = generator.random()
        if choice < 0.45:
            length = int(min(400000, generator.lognormvariate(6, 2)))
            answer = ask(b"set %s 0 0 %d\r\n%s\r\n" % (key.encode(), length, value_of(key, length)))
            assert answer == b"STORED", answer
            lengths[key] = length
        elif choice < 0.55:
            answer = ask(b"delete %s\r\n" % key.encode())
            assert answer == (b"DELETED" if lengths.pop(key, None) is not None else b"NOT_FOUND"), answer
        else:
            header = ask(b"get %s\r\n" % key.encode()).split()
            if header[0] == b"END":
                assert key not in lengths, key + " is lost"
                continue
            body = stream.read(int(header[3]) + 2)[:-2]
            assert stream.readline().rstrip() == b"END"
            assert body == value_of(key, lengths[key]), key + " is not what was set"
            tally["hits"] += 1
    connection.close()
    tally["done"] += 1

tallies = [{"hits": 0, "done": 0} for _ in range(4)]
threads = [threading.Thread(target=work, args=(i, tallies[i])) for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("connections done: %d, verified hits: %d" % (sum(t["done"] for t in tallies), sum(t["hits"] for t in tallies)))
sys.exit(0 if all(t["done"] == 1 and t["hits"] > 1000 for t in tallies) else 1)
END
cat "$SCRATCH/result"
stop_server "$SERVER" 0
