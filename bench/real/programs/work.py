"""The Python workload of bench/real: json, dicts, strings, regular expressions and the sqlite3 module, seeded.

    work.py SCALE      prints one digest a part; the same for every allocator
"""

import hashlib
import json
import random
import re
import sqlite3
import sys

SCALE = float(sys.argv[1])
RANDOM = random.Random(3)
WORDS = ["".join(RANDOM.choices("abcdefghijklmnop", k=RANDOM.randrange(2, 12))) for _ in range(2000)]


def times(count):
    return max(1, int(count * SCALE))


def digest(name, *values):
    print(name, hashlib.sha256("\n".join(map(str, values)).encode()).hexdigest()[:24])


def sentence(most):
    return " ".join(RANDOM.choices(WORDS, k=RANDOM.randrange(1, most)))


def record(number):
    return {
        "id": number,
        "name": sentence(4),
        "tags": RANDOM.sample(WORDS, RANDOM.randrange(0, 8)),
        "scores": [RANDOM.random() * 1000 for _ in range(RANDOM.randrange(0, 20))],
        "text": sentence(80),
        "nested": {word: {"n": number, "w": word} for word in RANDOM.sample(WORDS, 3)},
    }


def json_round_trips():
    kept = {}
    total = 0
    for number in range(times(9000)):
        text = json.dumps(record(number), sort_keys=True)
        total += len(text)
        kept[number % 1500] = json.loads(text)
    digest("json", total, json.dumps(kept, sort_keys=True))


def dicts_and_strings():
    index = {}
    for number in range(times(60000)):
        line = sentence(14)
        for word in line.split():
            index.setdefault(word, []).append(number)
        if number % 37 == 0:
            index.pop(RANDOM.choice(WORDS), None)
    pages = ["".join(f"<li>{word}: {len(found)}</li>" for word, found in sorted(index.items())) for _ in range(times(12))]
    digest("dicts", sum(map(len, index.values())), pages[-1], sum(map(len, pages)))


def regular_expressions():
    log = "\n".join(f"{n} GET /{RANDOM.choice(WORDS)}?q={RANDOM.choice(WORDS)}&n={n} {RANDOM.choice([200, 404, 503])}"
                    for n in range(times(15000)))
    request = re.compile(r"^(\d+) (GET|POST) /(\w+)\?((?:\w+=\w+&?)+) (\d{3})$", re.MULTILINE)
    hits = {}
    for match in request.finditer(log):
        hits.setdefault(match[5], []).append(dict(pair.split("=") for pair in match[4].split("&")))
    masked = re.sub(r"q=(\w)\w*", lambda match: "q=" + match[1].upper(), log)
    digest("regex", len(hits["200"]), masked, re.split(r"[\s?&=/]+", log)[:500])


def database():
    db = sqlite3.connect(":memory:")
    db.execute("create table visit (id integer primary key, path text, agent text, ms real)")
    db.execute("create index visit_path on visit (path, ms)")
    rows = ((None, "/" + RANDOM.choice(WORDS), sentence(10), RANDOM.random()) for _ in range(times(20000)))
    db.executemany("insert into visit values (?, ?, ?, ?)", rows)
    slow = db.execute("select path, count(*), group_concat(agent, ';') from visit group by path order by 2 desc, 1").fetchall()
    db.execute("delete from visit where ms < 0.5")
    left = [row for row in db.execute("select * from visit order by ms")]
    digest("sqlite3", slow, left)


for part in json_round_trips, dicts_and_strings, regular_expressions, database:
    part()
