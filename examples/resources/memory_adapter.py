#!/usr/bin/env python3
"""A template of a memory adapter for ``{"kind": "command"}`` (protocol xstash.memory.v1). Replace `Service` by yours.

One request is one JSON line on stdin, the answer one JSON document on stdout, then exit. Answer ``ok`` only after the
service has confirmed; take the same change twice without harm; act in the request's namespace only; keep every field;
write no credentials anywhere. HOME, PATH and the locale are all of the environment you get, and what the
configuration's ``env`` names.

This one keeps one JSON file per namespace in the folder given as its argument, so it works as it is:
    {"kind": "command", "scope": "personal", "namespace": "my-resources",
     "command": ["/usr/bin/python3", "/absolute/path/memory_adapter.py", "/absolute/private/folder"]}
"""

import fcntl
import json
import os
import sys

PROTOCOL = "xstash.memory.v1"


class Service:
    """Records by id in one private file, replaced whole, one process at a time."""

    def __init__(self, folder, namespace):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.path = os.path.join(folder, namespace + ".json")
        self.lock = os.open(self.path + ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        try:
            with open(self.path, encoding="utf-8") as file:
                self.records = json.load(file)
        except FileNotFoundError:
            self.records = {}

    def save(self):
        """Replace the file, then read it back: only what is there is confirmed."""
        temporary = f"{self.path}.{os.getpid()}.tmp"
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(self.records, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path)
        with open(self.path, encoding="utf-8") as file:
            return json.load(file) == self.records

    def search(self, query, limit):
        """Records that hold a word of the query, most words first."""
        words = set(query.lower().split())
        scored = [
            (sum(word in json.dumps(record, ensure_ascii=False).lower() for word in words), key)
            for key, record in self.records.items()
        ]
        best = sorted((item for item in scored if item[0]), key=lambda item: (-item[0], item[1]))
        return [self.records[key] for _, key in best[:limit]]


def handle(request, folder):
    """The answer to one request; None where it must not be confirmed."""
    if request.get("protocol") != PROTOCOL:
        return None
    service = Service(folder, request["namespace"])
    operation = request["operation"]
    if operation == "search":
        return {"resources": service.search(request["query"], min(request["limit"], 50))}
    if operation == "upsert":
        service.records[request["id"]] = request["resource"]
    elif operation == "delete":
        service.records.pop(request["id"], None)
    else:
        return None
    return {"id": request["id"], "revision": request["revision"]} if service.save() else None


def main():
    """Read one request, answer, exit."""
    request = json.loads(sys.stdin.buffer.readline())
    answer = handle(request, sys.argv[1])
    document = {"protocol": PROTOCOL, "ok": answer is not None, **(answer or {})}
    sys.stdout.write(json.dumps(document) + "\n")


if __name__ == "__main__":
    main()
