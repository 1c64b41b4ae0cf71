#!/usr/bin/python3
"""Load for redis: fill it, delete all but one key in twenty, in random order, and check what is left.

redis.py PORT KEYS
"""

import random
import socket
import sys

BATCH = 500
KEEP_EVERY = 20

CHANCE = random.Random(0)
SIZES = [min(max(int(CHANCE.lognormvariate(6.4, 1.1)), 16), 1 << 16) for _ in range(4099)]
PATTERN = bytes(range(256)) * 257


def value(number):
    """Log-normal sizes, median 600 bytes, 16 bytes to 64 KiB; two keys seldom hold the same."""
    start = number % 251
    return PATTERN[start : start + SIZES[number % len(SIZES)]]


class Redis:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.answers = self.socket.makefile("rb")

    def ask(self, commands):
        """Send all, then read one answer each."""
        text = bytearray()
        for command in commands:
            text += b"*%d\r\n" % len(command)
            for word in command:
                text += b"$%d\r\n%b\r\n" % (len(word), word)
        self.socket.sendall(text)
        return [self.answer() for _ in commands]

    def answer(self):
        line = self.answers.readline()
        if line[:1] != b"$" or line[1:2] == b"-":
            return line.rstrip()
        return self.answers.read(int(line[1:]) + 2)[:-2]


def expect(answers, wanted, what):
    for found, right in zip(answers, wanted, strict=True):
        if found != right:
            sys.exit(f"redis.py: {what}: {found[:60]!r} instead of {right[:60]!r}")


def main(port, keys):
    redis = Redis(port)
    order = list(range(keys))
    random.Random(1).shuffle(order)
    going = [number for number in order if number % KEEP_EVERY]
    staying = [number for number in order if number % KEEP_EVERY == 0]
    for first in range(0, keys, BATCH):
        some = order[first : first + BATCH]
        expect(redis.ask([(b"SET", b"key:%d" % n, value(n)) for n in some]), [b"+OK"] * len(some), "SET")
    random.Random(2).shuffle(going)
    for first in range(0, len(going), BATCH):
        some = going[first : first + BATCH]
        expect(redis.ask([(b"DEL", b"key:%d" % n) for n in some]), [b":1"] * len(some), "DEL")
    for first in range(0, len(staying), BATCH):
        some = staying[first : first + BATCH]
        expect(redis.ask([(b"GET", b"key:%d" % n) for n in some]), [value(n) for n in some], "GET")
    expect(redis.ask([(b"DBSIZE",)]), [b":%d" % len(staying)], "DBSIZE")
    print(f"{keys} keys set, {len(going)} deleted")


main(*map(int, sys.argv[1:]))
