"""What every solver back end of pinstep does alike: CONTRACT.md beside this file, in Python."""

import base64
import json
import os
import re
import sys
import urllib.parse

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


def where(request, line):
    """Where a line of the pip list stands, and the line: the beginning of a cause."""
    origin = f"{line['origin']}: " if line.get("origin") else ""
    return f"{request['path']}:{line['line']}: {origin}'{line['text']}': "


def one_line(text):
    return " ".join(text.split())


def without_credentials(text):
    """User, password and conda's token out of every URL in a text."""
    text = re.sub(r"(://)[^/@\s]+@", r"\1", text)
    return re.sub(r"(://[^\s]*?)/t/[^/\s]+", r"\1", text)


def opened(url, access):
    """(the URL as it is fetched, the headers that open it): user and password go into a header."""
    credentials = access.get("credentials", {})
    bases = [base for base in credentials if url == base or url.startswith(base + "/")]
    if not bases:
        return url, {}
    base = max(bases, key=len)
    scheme, _, rest = (credentials[base] + url[len(base):]).partition("://")
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    if not at:
        return f"{scheme}://{rest}", {}
    login = base64.b64encode(urllib.parse.unquote(user if ":" in user else user + ":").encode()).decode()
    return f"{scheme}://{host}{slash}{path}", {"Authorization": "Basic " + login}


def network_variables(access):
    """Proxies and certificates as variables of an environment."""
    variables = {f"{scheme}_proxy": url for scheme, url in access.get("proxies", {}).items()}
    if access.get("certificates"):
        name = "SSL_CERT_DIR" if os.path.isdir(access["certificates"]) else "SSL_CERT_FILE"
        variables[name] = access["certificates"]
    return variables


def open_network(access):
    """The same for this process alone: what it was started with shows none of them. A child would."""
    os.environ.update(network_variables(access))


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
