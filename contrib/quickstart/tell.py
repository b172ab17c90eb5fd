"""What quickstart says, and how it fails."""


class Failure(Exception):
    """What ends quickstart; the text is for the user."""


def say(heading):
    print(f"\n== {heading}", flush=True)


def note(text):
    print(f"   {text}", flush=True)


def command(who, text):
    """A command as it is about to be run."""
    print(f"   {who}$ {text}", flush=True)
