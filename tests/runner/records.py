"""tests/records.tsv: what full and fuzz runs gave, one line per suite. It is committed."""

import subprocess
import time

HEADER = "date\tcommit\ttier\tsuite\tpassed\tfailed\tskipped\tseconds\tseed\n"


def commit(top):
    """The short hash of what is checked out, with a `+` where that was changed since; '-' without git."""
    def git(*arguments):
        return subprocess.run(["git", "-C", top, *arguments], check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()
    try:
        changed = git("status", "--porcelain", "--", ".", ":!tests/records.tsv")
        return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "-"


def line(date, commit, tier, name, passed, failed, skipped, seconds, seed):
    return f"{date}\t{commit}\t{tier}\t{name}\t{passed}\t{failed}\t{skipped}\t{seconds:.0f}\t{seed}\n"


def append(path, lines):
    with open(path, "a") as file:
        if file.tell() == 0:
            file.write(HEADER)
        file.writelines(lines)


def today():
    return time.strftime("%Y-%m-%d", time.gmtime())
