"""pinstep setup and lock: from a spec to a lock, with the real solver."""


def test_deliberate_failure_is_seen(pinstep):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    assert pinstep("--version").returncode == 1
