#!/usr/bin/python3
"""Load for the events service on DuckDB: appends rows at a steady rate and asks for groups, and checks every answer.

duckdb.py PORT ROWS_PER_SECOND SECONDS
"""

import socket
import sys
import time

PAGES = 50 * 200
GROUPS_EVERY = 5


class Service:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.answers = self.socket.makefile("r")

    def ask(self, line):
        self.socket.sendall(line.encode() + b"\n")
        return self.answers.readline().strip()


def main(port, rate, seconds):
    service = Service(port)
    start = time.monotonic()
    for second in range(seconds):
        time.sleep(max(0, start + second - time.monotonic()))
        answer = service.ask(f"append {rate}")
        if answer != "ok":
            sys.exit(f"duckdb.py: second {second}: {answer!r} instead of ok")
        if second % GROUPS_EVERY == GROUPS_EVERY - 1:
            groups = int(service.ask("groups"))
            if not 0 < groups <= PAGES:
                sys.exit(f"duckdb.py: second {second}: {groups} groups of {PAGES} pages")
    rows, ledger = map(int, service.ask("rows").split())
    if rows != rate * seconds:
        sys.exit(f"duckdb.py: {rows} rows of {rate * seconds}")
    print(f"{rows} rows in {time.monotonic() - start:.1f} s; DuckDB says that it holds {ledger / 2**20:.1f} MiB")


main(*map(int, sys.argv[1:]))
