#!/usr/bin/python3
"""A small JSON service on Python's own threaded HTTP server: what many internal tools are.

threaded.py PORT

POST /events takes a JSON list of events and answers with their totals by user; GET /up answers ok.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # The head and the body leave in two writes: they must not wait for each other.
    disable_nagle_algorithm = True

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(200, b"ok\n")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        events = json.loads(body)
        totals = {}
        for event in events:
            total = totals.setdefault(event["user"], {"events": 0, "amount": 0, "pages": []})
            total["events"] += 1
            total["amount"] += event["amount"]
            total["pages"].append(event["page"].split("/"))
        self.answer(200, json.dumps({"count": len(events), "users": totals}).encode())

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 64


Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
