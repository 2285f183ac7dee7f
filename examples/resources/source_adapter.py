#!/usr/bin/env python3
"""A template of a source for ``resource.pull`` (protocol xstash.source.v1): pages of items from where you keep them.

It reads a JSON array of {id, url, title, text, updatedAt} from the file given as its argument, 100 items a page, so
it works as it is with "pagination": "cursor" and "incremental": "rescan". Declare only what is true: "cursor" if a
page can really be asked for by its cursor, "checkpoint" if there is a durable mark after which only what is new
comes.
"""

import json
import sys

PROTOCOL = "xstash.source.v1"


def page(request, items):
    """The page at the request's cursor."""
    start = int(request["cursor"] or 0)
    end = start + request["limit"]
    return {
        "provider": request["provider"],
        "account": request["account"],
        "items": items[start:end],
        "nextCursor": str(end) if end < len(items) else None,
        "checkpoint": None,
        "coverage": "full",  # "partial" if there is more than you can reach
    }


def main():
    """Read one request, answer with one page or with a code that says why there is none."""
    request = json.loads(sys.stdin.buffer.readline())
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            answer = {"ok": True, **page(request, json.load(file))}
    except PermissionError:
        answer = {"ok": False, "code": "access_denied"}
    except (OSError, ValueError):
        answer = {"ok": False, "code": "unavailable"}
    sys.stdout.write(json.dumps({"protocol": PROTOCOL, **answer}) + "\n")


if __name__ == "__main__":
    main()
