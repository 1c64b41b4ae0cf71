#!/usr/bin/python3
"""Load for the two JSON services: posts lists of events, some at a time, and checks every answer.

events.py PORT REQUESTS AT_A_TIME [PER_SECOND]

Bodies are 1 to 200 KB. With PER_SECOND requests leave at that rate whatever the answers do, otherwise each
connection sends the next one when it has its answer.
"""

import http.client
import json
import random
import sys
import threading
import time

BODIES = 40


def make_body(index):
    """The bytes, how many events, and the sum of their amounts. Log-uniform from 1 to 200 KB."""
    chance = random.Random(index)
    size = 1000 * 200 ** chance.random()
    events = []
    length = 0
    while length < size:
        event = {
            "user": f"user-{chance.randrange(50)}",
            "amount": chance.randrange(1000),
            "page": "/".join("x" * chance.randrange(3, 12) for _ in range(chance.randrange(2, 8))),
            "agent": "Mozilla/5.0 " + "y" * chance.randrange(60),
        }
        events.append(event)
        length += len(json.dumps(event)) + 2
    return json.dumps(events).encode(), len(events), sum(event["amount"] for event in events)


class Load:
    def __init__(self, port, requests, per_second):
        self.port = port
        self.requests = requests
        self.per_second = per_second
        self.bodies = [make_body(index) for index in range(BODIES)]
        self.lock = threading.Lock()
        self.next = 0
        self.wrong = []
        self.start = time.monotonic()

    def take(self):
        with self.lock:
            number = self.next
            self.next += 1
        return number if number < self.requests else None

    def one(self, connection, number):
        body, count, amount = self.bodies[number * 7 % BODIES]
        connection.request("POST", "/events", body)
        answer = connection.getresponse()
        text = answer.read()
        found = json.loads(text)
        if answer.status != 200 or found["count"] != count:
            raise ValueError(f"request {number}: status {answer.status}, {found['count']} events instead of {count}")
        if sum(user["amount"] for user in found["users"].values()) != amount:
            raise ValueError(f"request {number}: wrong amounts")

    def client(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            while not self.wrong and (number := self.take()) is not None:
                if self.per_second:
                    time.sleep(max(0, self.start + number / self.per_second - time.monotonic()))
                self.one(connection, number)
        except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
            self.wrong.append(error)
        finally:
            connection.close()


def main(port, requests, at_a_time, per_second=0):
    load = Load(port, requests, per_second)
    threads = [threading.Thread(target=load.client) for _ in range(at_a_time)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if load.wrong:
        sys.exit(f"events.py: {load.wrong[0]}")
    print(f"{requests} requests in {time.monotonic() - load.start:.1f} s")


main(*map(int, sys.argv[1:]))
