#!/usr/bin/python3
"""Load for PostgreSQL: four connections of a pool, each with a few heavy queries among many light ones.

postgres.py PORT USER TURNS REST_SECONDS

The connections stay open while the server rests, as a pool's do: when the work is done a child process
keeps them for REST_SECONDS, and this one ends.
"""

import os
import socket
import struct
import sys
import threading
import time

HEAVY = """SELECT count(*), sum(length(texts)) FROM (SELECT word, string_agg(body, ',' ORDER BY id) AS texts
FROM (SELECT id, md5((id % 5000)::text) AS word, repeat(md5(id::text), 5) AS body FROM generate_series(1, {rows}) id) made
GROUP BY word) grouped"""
LIGHT = "SELECT count(*), sum(length(body)) FROM events_{table} WHERE kind = {kind} AND body LIKE '%{kind}%'"
TABLES = 60


class Backend:
    """As much of the protocol as simple queries need; the server trusts us."""

    def __init__(self, port, user):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self.stream = self.socket.makefile("rb")
        body = b"\0\3\0\0" + b"user\0%b\0database\0postgres\0\0" % user.encode()
        self.socket.sendall(struct.pack("!i", len(body) + 4) + body)
        self.until_ready()

    def until_ready(self):
        rows = []
        error = None
        while True:
            kind = self.stream.read(1)
            body = self.stream.read(struct.unpack("!i", self.stream.read(4))[0] - 4)
            if kind == b"D":
                rows.append(body)
            elif kind == b"E":
                error = body.replace(b"\0", b" ").decode(errors="replace")
            elif kind == b"Z":
                if error:
                    raise ValueError(error)
                return rows

    def query(self, text):
        body = text.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!i", len(body) + 4) + body)
        return self.until_ready()


def work(backend, turns, wrong):
    try:
        for turn in range(turns):
            for table in range(TABLES):
                backend.query(LIGHT.format(table=table, kind=(turn + table) % 7))
            rows = backend.query(HEAVY.format(rows=60000 + 20000 * (turn % 2)))
            if b"5000" not in rows[0]:
                raise ValueError(f"a heavy query answered {rows[0]!r}")
    except (OSError, ValueError) as error:
        wrong.append(error)


def prepare(backend):
    backend.query("SET client_min_messages = error")
    for table in range(TABLES):
        backend.query(
            f"CREATE TABLE events_{table} AS SELECT id, id % 7 AS kind, md5(id::text) AS body"
            f" FROM generate_series(1, 300) id; CREATE INDEX ON events_{table} (kind)"
        )


def main(port, user, turns, rest):
    pool = [Backend(port, user) for _ in range(4)]
    prepare(pool[0])
    wrong = []
    threads = [threading.Thread(target=work, args=(backend, turns, wrong)) for backend in pool]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        sys.exit(f"postgres.py: {wrong[0]}")
    print(f"4 connections, {turns} turns each")
    sys.stdout.flush()
    if os.fork() == 0:
        time.sleep(rest)


main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
