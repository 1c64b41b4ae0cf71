#!/usr/bin/python3
"""Load for ClickHouse: 29 inserts a second of 1,000 rows, and a GROUP BY in a loop beside them.

clickhouse.py PORT SECONDS
"""

import http.client
import sys
import threading
import time

PER_SECOND = 29
ROWS = 1000
TABLE = """CREATE TABLE events (day Date, at DateTime, site UInt32, visitor UInt64, path String, referrer String,
agent String) ENGINE = MergeTree(day, (site, at), 8192)"""
QUESTION = """SELECT path, count(), uniq(visitor), avg(length(agent)) FROM events
GROUP BY path ORDER BY count() DESC LIMIT 100"""


def rows(number):
    """One insert's rows as tab-separated text."""
    lines = []
    for i in range(ROWS):
        at = number * ROWS + i
        lines.append(
            f"2026-11-{1 + at // 40000 % 28:02d}\t2026-11-30 12:{at // 60 % 60:02d}:{at % 60:02d}\t{at % 40}"
            f"\t{at * 2654435761 % 100003}\t/page/{at * 7919 % 3001}\thttps://example.org/{at % 977}"
            f"\tMozilla/5.0 (X11; Linux x86_64; rv:{at % 50}.0) Gecko/20100101\n"
        )
    return "".join(lines).encode()


def ask(connection, query, body=b""):
    head, _, tail = query.partition(" FORMAT ")
    path = "/?query=" + "".join(f"%{byte:02x}" for byte in (head + (" FORMAT " + tail if tail else "")).encode())
    connection.request("POST", path, body)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        raise ValueError(f"{head[:40]}: {text[:300]!r}")
    return text


def connect(port):
    return http.client.HTTPConnection("127.0.0.1", port, timeout=60)


def insert(port, seconds, counts, wrong):
    connection = connect(port)
    start = time.monotonic()
    try:
        for number in range(PER_SECOND * seconds):
            body = rows(number)
            time.sleep(max(0, start + number / PER_SECOND - time.monotonic()))
            ask(connection, "INSERT INTO events FORMAT TabSeparated", body)
            counts["inserts"] += 1
    except (OSError, ValueError, http.client.HTTPException) as error:
        wrong.append(error)
    counts["done"] = True


def main(port, seconds):
    connection = connect(port)
    ask(connection, TABLE)
    wrong = []
    counts = {"inserts": 0, "questions": 0, "done": False}
    inserter = threading.Thread(target=insert, args=(port, seconds, counts, wrong))
    inserter.start()
    while not counts["done"]:
        ask(connection, QUESTION)
        counts["questions"] += 1
        time.sleep(0.05)
    inserter.join()
    found = int(ask(connection, "SELECT count() FROM events"))
    if wrong or found != counts["inserts"] * ROWS:
        sys.exit(f"clickhouse.py: {wrong[0] if wrong else f'{found} rows after {counts} inserts'}")
    print(f"{counts['inserts']} inserts, {counts['questions']} questions")


main(int(sys.argv[1]), int(sys.argv[2]))
