#!/usr/bin/python3
"""load.py: asks an HTTP server on 127.0.0.1 many things at once and checks every answer.

    load.py --port P --requests N --connections C [--gzip] (--manifest FILE | --computed)

--manifest  lines `path TAB sha256`: each request takes one of the paths, round robin.
--computed  the server answers GET /h/<n>/<k> with the hexadecimal SHA-256 of the text <n>, k times,
            and POST /echo with the hexadecimal SHA-256 of the body; one request in four is a POST.

Prints `requests=N bytes=B wrong=0` and exits 0 only when every request was answered and right.
"""

import argparse
import gzip
import hashlib
import http.client
import random
import sys
import threading


def computed(number, generator):
    """One request: method, path, body, and the SHA-256 its answer must have."""
    if number % 4 == 3:
        body = generator.randbytes(generator.choice((10, 1000, 30000, 300000)))
        answer = hashlib.sha256(body).hexdigest().encode()
        return "POST", "/echo", body, hashlib.sha256(answer).hexdigest()
    times = generator.choice((1, 3, 40, 700, 9000))
    answer = hashlib.sha256(str(number).encode()).hexdigest().encode() * times
    return "GET", "/h/%d/%d" % (number, times), None, hashlib.sha256(answer).hexdigest()


class Client(threading.Thread):
    """One connection, kept open, working through its share of the request numbers."""

    def __init__(self, options, manifest, first):
        super().__init__()
        self.options, self.manifest, self.first = options, manifest, first
        self.answered = self.received = self.wrong = 0
        self.fault = None

    def request_of(self, number, generator):
        if self.manifest is None:
            return computed(number, generator)
        path, digest = self.manifest[number % len(self.manifest)]
        return "GET", path, None, digest

    def run(self):
        generator = random.Random(self.first)
        connection = http.client.HTTPConnection("127.0.0.1", self.options.port, timeout=60)
        headers = {"Accept-Encoding": "gzip"} if self.options.gzip else {}
        try:
            for number in range(self.first, self.options.requests, self.options.connections):
                method, path, body, digest = self.request_of(number, generator)
                connection.request(method, path, body, headers)
                answer = connection.getresponse()
                content = answer.read()
                self.received += len(content)
                if answer.getheader("Content-Encoding") == "gzip":
                    content = gzip.decompress(content)
                self.answered += 1
                if answer.status != 200 or hashlib.sha256(content).hexdigest() != digest:
                    self.wrong += 1
                    self.fault = "%s %s: status %d, %d bytes" % (method, path, answer.status, len(content))
        except (OSError, http.client.HTTPException) as error:
            self.fault = "connection %d: %r" % (self.first, error)
        connection.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--connections", type=int, required=True)
    parser.add_argument("--gzip", action="store_true")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--manifest")
    source.add_argument("--computed", action="store_true")
    options = parser.parse_args()

    manifest = None
    if options.manifest:
        with open(options.manifest) as file:
            manifest = [line.rstrip("\n").split("\t") for line in file]
    clients = [Client(options, manifest, first) for first in range(options.connections)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    answered = sum(client.answered for client in clients)
    wrong = sum(client.wrong for client in clients)
    for fault in [client.fault for client in clients if client.fault][:5]:
        print(fault, file=sys.stderr)
    print("requests=%d bytes=%d wrong=%d" % (answered, sum(client.received for client in clients), wrong))
    return 0 if answered == options.requests and wrong == 0 else 1


sys.exit(main())
