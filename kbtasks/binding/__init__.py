"""One vault pinned to one project: bind, verify, search, promote, receipts."""
