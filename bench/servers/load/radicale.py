#!/usr/bin/python3
"""Load for Radicale: an address book is listed and read whole, five requests at a time.

radicale.py PORT CARDS REQUESTS   the load; CARDS is how many the book must hold
radicale.py --book DIRECTORY CARDS   writes the collection that the server shall serve
"""

import base64
import http.client
import json
import pathlib
import random
import sys
import threading

AUTHORIZATION = "Basic " + base64.b64encode(b"ada:x").decode()
PHOTO_EVERY = 5
PHOTO_BYTES = 80_000
LIST = """<?xml version="1.0"?><propfind xmlns="DAV:"><prop><getetag/><getcontenttype/></prop></propfind>"""
READ = """<?xml version="1.0"?><C:addressbook-query xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:carddav">
<prop><getetag/><C:address-data/></prop></C:addressbook-query>"""


def card(number, chance):
    lines = [
        "BEGIN:VCARD",
        "VERSION:3.0",
        f"UID:ebb-{number:04d}",
        f"FN:Person {number}",
        f"N:{number};Person;;;",
        f"EMAIL;TYPE=work:person{number}@example.org",
        f"TEL;TYPE=cell:+1 555 {number:04d}",
        "NOTE:" + "likes strong coffee and long walks " * chance.randrange(2, 12),
    ]
    if number % PHOTO_EVERY == 0:
        lines.append("PHOTO;ENCODING=b;TYPE=JPEG:" + base64.b64encode(chance.randbytes(PHOTO_BYTES)).decode())
    return "\r\n".join(lines + ["END:VCARD", ""])


def write_book(directory, cards):
    book = pathlib.Path(directory) / "collection-root" / "ada" / "book"
    book.mkdir(parents=True)
    (book / ".Radicale.props").write_text(json.dumps({"tag": "VADDRESSBOOK", "D:displayname": "book"}))
    chance = random.Random(600)
    for number in range(cards):
        (book / f"ebb-{number:04d}.vcf").write_text(card(number, chance), newline="")


def one(port, number, cards):
    """Reads all cards, every third time lists them only. The bytes of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    method, body = ("PROPFIND", LIST) if number % 3 == 2 else ("REPORT", READ)
    connection.request(method, "/ada/book/", body, {"Authorization": AUTHORIZATION, "Depth": "1"})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    found = text.count(b"<getetag>")
    wanted = cards + (method == "PROPFIND")
    if answer.status != 207 or found != wanted or (method == "REPORT" and text.count(b"END:VCARD") != cards):
        raise ValueError(f"{method}: status {answer.status}, {found} entries instead of {wanted}")
    return len(text)


def client(port, cards, numbers, sizes, wrong):
    try:
        for number in numbers:
            sizes.append(one(port, number, cards))
    except (OSError, ValueError, http.client.HTTPException) as error:
        wrong.append(error)


def main(port, cards, requests):
    sizes = []
    wrong = []
    threads = [
        threading.Thread(target=client, args=(port, cards, range(first, requests, 5), sizes, wrong)) for first in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        sys.exit(f"radicale.py: {wrong[0]}")
    print(f"{requests} requests, {sum(sizes)} bytes")


if sys.argv[1] == "--book":
    write_book(sys.argv[2], int(sys.argv[3]))
else:
    main(*map(int, sys.argv[1:]))
