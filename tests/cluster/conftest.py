"""Fixtures of the cluster tests.

A file says which cluster it wants, CLUSTER = Wanted("cgroup", …); files of a suite that want the same one
share it. After each test no node may be drained or down.
"""

import functools
import os
from pathlib import Path

import pytest

# Their assertions are to show values, as those of the tests do.
pytest.register_assert_rewrite("cluster", "expect", "job")

from cluster import Cluster, minicluster     # noqa: E402
from stage import Stage                             # noqa: E402


@pytest.fixture(scope="session")
def work(tmp_path_factory):
    """Directory for this session's clusters. tests/run gives one and ends what is left in it."""
    return Path(os.environ.get("PINSTEP_TEST_WORK") or tmp_path_factory.mktemp("clusters"))


@pytest.fixture(scope="session")
def stage(work):
    """stage(): pinstep as `make install` installs it; made when it is first asked for."""
    return functools.cache(lambda: Stage(work / "stage"))


@pytest.fixture(scope="session")
def shared_clusters(work):
    clusters = {}
    yield clusters
    for cluster in clusters.values():
        cluster.down()


@pytest.fixture(scope="module")
def cluster(request, work, stage, shared_clusters):
    """The cluster of this file."""
    wanted = request.module.CLUSTER
    if wanted not in shared_clusters:
        directory = work / f"cluster{len(shared_clusters)}"
        shared_clusters[wanted] = Cluster(directory, wanted.arguments(stage))
    return shared_clusters[wanted]


@pytest.fixture(autouse=True)
def no_disturbed_node(request):
    if "cluster" not in request.fixturenames:
        yield
        return
    cluster = request.getfixturevalue("cluster")
    yield
    disturbed = cluster.disturbed_nodes()
    cluster.repair()
    assert not disturbed


@pytest.fixture
def own_cluster(request, work, stage):
    """own_cluster(Wanted(…)): one more cluster, gone after the test."""
    clusters = []

    def start(wanted):
        directory = work / f"{request.node.originalname}{len(clusters)}"
        clusters.append(Cluster(directory, wanted.arguments(stage)))
        return clusters[-1]

    yield start
    for cluster in clusters:
        cluster.down()


@pytest.fixture
def directory(request, work):
    """Where a test may start a cluster by hand; it is ended afterwards, whatever is left of it."""
    path = work / request.node.originalname
    yield path
    minicluster("down", "--dir", path).ok()
