"""What every solver back end of pinstep does alike: CONTRACT.md beside this file, in Python."""

import json
import os
import re
import sys

VERSION = 1

# Exit codes.
OK, FAILED, USAGE, UNSATISFIABLE, NETWORK = range(5)

_CODES = {"usage": USAGE, "invalid": USAGE, "unsatisfiable": UNSATISFIABLE, "network": NETWORK}


class Refusal(Exception):
    """Ends a back end: an error of one of pinstep's kinds, with cause and hint."""

    def __init__(self, kind, cause, hint="", **more):
        super().__init__(cause)
        self.kind = kind
        self.content = {"kind": kind, "cause": one_line(cause), "hint": one_line(hint), **more}


def one_line(text):
    return " ".join(text.split())


def without_credentials(text):
    """User, password and conda's token out of every URL in a text."""
    text = re.sub(r"(://)[^/@\s]+@", r"\1", text)
    return re.sub(r"(://[^\s]*?)/t/[^/\s]+", r"\1", text)


def main(backend, version, solve):
    """Reads a request, answers with solve(request) or with why not, and ends the program."""
    try:
        code, answer = OK, solve(_request(sys.stdin.buffer.read()))
        answer = {"backend": backend, "version": version, **answer}
    except Refusal as refusal:
        code = _CODES.get(refusal.kind, FAILED)
        answer = {"error": refusal.content}
    except KeyboardInterrupt:
        sys.exit(130)
    text = json.dumps(answer, ensure_ascii=True, separators=(",", ":")) + "\n"
    sys.stdout.write(text if code == OK else without_credentials(text))
    sys.stdout.flush()
    os._exit(code)      # rattler's threads outlive the interpreter and crash one such end in ten


def _request(data):
    try:
        request = json.loads(data)
    except ValueError as error:
        raise Refusal("usage", f"the request is not JSON: {error}") from None
    if not isinstance(request, dict) or request.get("contract") != VERSION:
        raise Refusal("usage", f"the request is not of contract {VERSION}")
    return request
