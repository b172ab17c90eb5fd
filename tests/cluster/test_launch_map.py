"""The place that pinstep-launch gives each rank, on a node with stand-ins for GPUs (two_sockets.xml)."""

import json

import pytest

from cluster import TOP, Cluster, Wanted
from launched import CUDA, PROGRAM, TOPOLOGY, Step, run
from job import Job
from messages import said

EXAMPLE = TOP / "contrib/examples/fashion-mnist/train.sbatch"
MORE = ("--topology", TOP / "tests/launcher/data/two-sockets.xml", "--gpus", "4")
CLUSTER = Wanted("cgroup", plugin=True, more=MORE)

pytestmark = pytest.mark.skips("no cgroup v1")


@pytest.fixture(scope="module")
def prefix(cluster):
    return cluster.prefix("map")


@pytest.fixture(scope="module")
def plain(work, stage):
    cluster = Cluster(work / "map-plain", Wanted("plain", plugin=True, more=MORE).arguments(stage))
    yield cluster
    cluster.down()


@pytest.fixture(scope="module")
def two_cores(work, stage):
    """As many processors as the machine has: else Slurm binds nothing by itself."""
    cluster = Cluster(work / "map-cores", Wanted("plain", plugin=True, more=("--cpus", "2")).arguments(stage))
    yield cluster
    cluster.down()


def test_deliberate_failure_is_seen(cluster, prefix):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    step = run(cluster, [f"--env-spec={prefix}", "-n2", "--gpus-per-task=1"])
    assert step.of("devices") == [[0, 1], [0, 1]]


# ---- devices

def test_shared_gpus_are_the_ranks_at_local_rank(cluster, prefix):
    step = run(cluster, [f"--env-spec={prefix}", "--env-gpu-share", "-n3", "--gpus-per-task=1"])
    assert step.own_devices == [0, 1, 2] and step.of("devices") == [[0, 1, 2]] * 3
    assert set(step.of("CUDA_DEVICE_ORDER")) == {"PCI_BUS_ID"}
    assert step.of("NCCL_IB_HCA") == ["=mlx5_0,mlx5_1"] * 3
    assert step.warnings == []


def directives():
    """The example's own #SBATCH lines."""
    return "".join(line for line in EXAMPLE.read_text().splitlines(True) if line.startswith("#SBATCH "))


def test_the_example_shares_them(cluster, prefix):
    step = run(cluster, [f"--env-spec={prefix}", "-n2", "--gpus-per-task=1"], before=directives())
    assert step.own_devices == [0, 1] and step.of("devices") == [[0, 1]] * 2 and step.warnings == []


@pytest.mark.parametrize("profile", ["cgroup", "plain"])
def test_the_example_shares_them_without_the_plugin(own_cluster, profile):
    bare = own_cluster(Wanted(profile, installed=True, more=MORE))
    prefix = bare.prefix("map")
    bare.write(CUDA, PROGRAM)
    script = bare.write("/home/alice/example.sh", f"#!/bin/bash\n{directives()}"
                        f"srun pinstep-launch --topology={TOPOLOGY} -- /usr/bin/python3 {CUDA} 2>&1\n")
    submitted = bare.run("pinstep", "sbatch", "--parsable", f"--env-spec={prefix}", "-N1", "-n2", "--gpus-per-task=1", script)
    step = Step(Job(bare, int(submitted.ok().out), bare.home()).ok())
    assert step.own_devices == [0, 1] and step.of("devices") == [[0, 1]] * 2 and step.warnings == []


def test_isolated_ranks_have_their_own_gpu_and_one_line_says_so(cluster, prefix):
    step = run(cluster, [f"--env-spec={prefix}", "-n2", "--gpus-per-task=1"])
    assert step.of("devices") == [[0], [1]]
    assert step.of("CUDA_VISIBLE_DEVICES") == ["0", "0"]
    warning, = step.warnings
    assert "--env-gpu-share" in warning and "SLURM_GPU_BIND=none" in warning


def test_isolated_ranks_that_want_their_own_gpu_only_hear_nothing(cluster, prefix):
    step = run(cluster, [f"--env-spec={prefix}", "-n2", "--gpus-per-task=1"], "--visible=own")
    assert step.of("devices") == [[0], [1]] and step.warnings == []


def test_without_constraint_too(plain):
    step = run(plain, ["-n2", "--gpus-per-task=1"])
    assert step.own_devices == [0, 1] and step.of("devices") == [[0, 1], [0, 1]]
    assert step.warnings == []


def test_own_gpus_only(plain):
    step = run(plain, ["-n2", "--gpus-per-task=1"], "--visible=own")
    assert step.of("devices") == [[0], [1]]


def test_two_gpus_for_each_rank_are_neighbours(plain):
    step = run(plain, ["-n2", "--gpus-per-task=2"], "--print-map --json", srun="--gpus-per-task=2")
    assert step.of("devices") == [[0, 1, 2, 3]] * 2
    shown, = (json.loads(line) for line in step.lines if line.startswith('{"node"'))
    assert [rank["gpus"] for rank in shown["ranks"]] == [[0, 1], [2, 3]]


def test_fewer_ranks_than_gpus(plain):
    step = run(plain, ["-n2", "--gpus-per-node=4"])
    assert step.own_devices == [0, 1] and step.of("devices") == [[0, 1, 2, 3]] * 2


def test_a_single_rank_has_all(plain):
    step = run(plain, ["-n1", "--gpus-per-node=3"])
    assert step.of("devices") == [[0, 1, 2]]


def test_what_the_user_chose_wins(plain):
    step = run(plain, ["-n2", "--gpus-per-node=2"], before="export NCCL_IB_HCA=mlx5_7 OMP_NUM_THREADS=3",
               srun="env CUDA_VISIBLE_DEVICES=1")
    assert step.of("CUDA_VISIBLE_DEVICES") == ["1", "1"] and step.of("CUDA_DEVICE_ORDER") == [None, None]
    assert step.of("NCCL_IB_HCA") == ["mlx5_7"] * 2 and step.of("OMP_NUM_THREADS") == ["3"] * 2


@pytest.mark.parametrize("chosen, gpus", [("1,0", [[1], [0]]), ("3", [[3], [3]]), ("2,-1,0", [[2], [2]]),
                                          ("", [[], []])])
def test_the_map_follows_what_the_user_chose(plain, chosen, gpus):
    step = run(plain, ["-n2", "--gpus-per-node=4"], "--print-map --json", srun=f"env CUDA_VISIBLE_DEVICES={chosen}",
               command="printenv CUDA_VISIBLE_DEVICES")
    shown, = (json.loads(line) for line in step.lines if line.startswith('{"node"'))
    numbers = [[shown["gpus"][gpu]["device"] for gpu in rank["gpus"]] for rank in shown["ranks"]]
    assert numbers == gpus and step.lines.count(chosen) == 2


@pytest.mark.parametrize("chosen", ["3,2,1,0", "0,2,1,3", "0,1,2,9", "5,6,7,8"])
@pytest.mark.parametrize("constrained", [False, True], ids=["plain", "constrained"])
def test_as_many_as_slurm_gave_in_the_users_order(plain, cluster, chosen, constrained):
    step = run(cluster if constrained else plain, ["-n1", "--gpus-per-node=4"], "--print-map --json",
               srun=f"env CUDA_VISIBLE_DEVICES={chosen}", command="env")
    assert f"CUDA_VISIBLE_DEVICES={chosen}" in step.lines, step.lines
    assert not any(line.startswith("CUDA_DEVICE_ORDER=") for line in step.lines), step.lines
    if "9" in chosen or "8" in chosen:
        warning, = step.warnings
        assert f"of CUDA_VISIBLE_DEVICES={chosen} is none of this node's GPUs" in warning


def test_each_rank_may_have_chosen_for_itself(plain):
    step = run(plain, ["-n2", "--gpus-per-node=4"], "--print-map --json",
               srun="sh -c 'CUDA_VISIBLE_DEVICES=$((3 - SLURM_LOCALID)) exec \"$@\"' sh")
    shown, = (json.loads(line) for line in step.lines if line.startswith('{"node"'))
    assert [[shown["gpus"][gpu]["device"] for gpu in rank["gpus"]] for rank in shown["ranks"]] == [[3], [2]]
    assert step.of("devices") == [[3], [2]]


def test_a_gpu_that_is_not_there_is_named(plain):
    step = run(plain, ["-n2", "--gpus-per-node=4"], srun="env CUDA_VISIBLE_DEVICES=GPU-7",
               command="printenv CUDA_VISIBLE_DEVICES")
    warning, = step.warnings
    assert "'GPU-7' of CUDA_VISIBLE_DEVICES=GPU-7 is none of this node's GPUs" in warning
    assert step.lines.count("GPU-7") == 2


def test_a_step_without_gpus_is_told_of_none(plain):
    step = run(plain, ["-n2"])
    assert step.of("CUDA_VISIBLE_DEVICES") == [None, None] and step.of("NCCL_IB_HCA") == [None, None]


def test_nccl_is_given_the_topology_of_the_map(plain):
    step = run(plain, ["-n2", "--gpus-per-node=2"], "--nccl-topo-file", command="sh -c 'cat $NCCL_TOPO_FILE'")
    assert step.lines.count('<system version="1">') == 2 and step.lines.count("</system>") == 2
    assert step.lines.count('      <pci busid="0000:13:00.0" class="0x030200"/>') == 2, step.lines


def test_where_only_the_job_tells_which_gpus_are_the_steps_these_are_taken(plain):
    step = run(plain, ["-n2", "--gpus-per-node=2"], srun="--gpu-bind=none")
    assert step.of("devices") == [[0, 1], [0, 1]] and step.warnings == []


def test_where_nothing_tells_which_gpus_are_the_steps_none_is_taken(plain):
    step = run(plain, ["-n2", "--gpus-per-node=2"], "--print-map", srun="--gpu-bind=none",
               before="unset SLURM_JOB_GPUS")
    assert step.of("CUDA_VISIBLE_DEVICES") == [None, None]
    assert any("4 GPUs can be opened, the step has 2, and nothing tells which" in line for line in step.lines)


# ---- cores

def test_ranks_have_cores_of_their_own(plain):
    step = run(plain, ["-n2", "-c2"], srun="-c2")
    first, second = step.of("cpus")
    assert first and second and not set(first) & set(second)
    assert step.of("OMP_NUM_THREADS") == [str(len(first)), str(len(second))]


def test_more_ranks_than_cores_are_not_bound(plain):
    bare = plain.sbatch("srun -n4 --overcommit python3 -c 'import os; print(sorted(os.sched_getaffinity(0)))'",
                        "-N1", "-n1").ok().lines
    step = run(plain, ["-n1"], srun="-n4 --overcommit")
    assert sorted(map(str, step.of("cpus"))) == sorted(bare) and step.of("OMP_NUM_THREADS") == [None] * 4


def test_memory_is_of_the_cores_node_by_the_policy(plain):
    policy = ("import ctypes; mode = ctypes.c_int(-1);"
              "ctypes.CDLL('libnuma.so.1').get_mempolicy(ctypes.byref(mode), None, 0, None, 0); print(mode.value)")
    for option, mode in (("", "1"), ("--memory=bind", "2"), ("--memory=none", "0")):
        result = plain.srun("-N1", "-n1", "pinstep-launch", *option.split(), "--", "python3", "-c", policy).ok()
        assert result.lines == [mode], option


@pytest.mark.parametrize("bind, cpus", [("mask_cpu:1,2", [[0], [1]]), ("mask_cpu:0x2,0x1", [[1], [0]]),
                                        ("map_cpu:1,0", [[1], [0]]), ("none", None)])
def test_a_binding_of_the_user_stays(two_cores, bind, cpus):
    result = two_cores.srun("-N1", "-n2", f"--cpu-bind={bind}", "pinstep-launch", "--print-map", "--", "sh", "-c",
                            "echo $SLURM_PROCID $(taskset -pc $$)").ok()
    found = [[int(cpu) for cpu in line.split(": ")[1].split(",")] for line in sorted(result.lines)]
    assert found == (cpus or [[0], [1]])
    assert ("srun's --cpu-bind or SLURM_CPU_BIND has bound the ranks" in result.err) == (cpus is not None)


def test_automatic_binding_is_dealt_out(two_cores):
    result = two_cores.srun("-N1", "-n2", "pinstep-launch", "--system-cores=0", "-v", "--", "true").ok()
    assert all(f"cpus {rank}" in line for rank, line in enumerate(sorted(said(result.err)))), result


def test_strict_refuses_to_run_a_rank_that_has_no_place(plain):
    result = plain.srun("-N1", "-n2", "pinstep-launch", "--strict", "--topology=/etc/passwd", "--", "echo", "started")
    assert result.rc != 0 and "started" not in result.out
    assert "neither hwloc's XML nor a topology file of NCCL" in result.err


def test_strict_wants_a_core_for_each_rank(two_cores):
    result = two_cores.srun("-N1", "-n4", "--overcommit", "pinstep-launch", "--strict", "--", "echo", "started")
    assert result.rc != 0 and "started" not in result.out and "fewer cores than" in result.err, result


def test_strict_wants_to_know_the_gpus(plain):
    job = plain.sbatch("unset SLURM_JOB_GPUS\nsrun --gpu-bind=none pinstep-launch --strict -- echo started 2>&1",
                       "-N1", "-n2", "--gpus-per-node=2")
    assert set(job.wait().states()) == {"FAILED"}
    assert any("nothing tells which" in line for line in job.lines) and "started" not in job.lines


def test_bind_none(plain):
    step = run(plain, ["-n2", "-c2"], "--bind=none", srun="-c2")
    assert step.of("cpus")[0] == step.of("cpus")[1] and step.of("OMP_NUM_THREADS") == [None] * 2


# ---- the map itself

def test_the_map_is_shown_once_for_each_node(plain):
    result = plain.srun("-N2", "-n4", "pinstep-launch", f"--topology={TOPOLOGY}", "--print-map", "--", "true").ok()
    assert sorted(line for line in result.err.splitlines() if line.startswith("map of ")) == [
        f"map of {node}:" for node in plain.nodes]


def test_the_map_is_the_users_alone_and_goes_with_a_later_step(plain):
    node = ["-N1", "-n1", "-w", plain.nodes[0]]
    look = "cd /dev/shm/pinstep-*; stat -c '%A %n' . * */*"
    lines = plain.srun(*node, "pinstep-launch", "--", "sh", "-c", look).ok().lines
    assert {line.split()[0] for line in lines} == {"drwx------", "-rw-------"}
    age = f"touch -d '2 minutes ago' /dev/shm/pinstep-*/*; pinstep-launch -- sh -c \"{look}\""
    again = plain.srun(*node, "sh", "-c", age).ok().lines
    assert len(again) == 3 and not set(again[1:]) & set(lines)


def test_launches_in_one_step_do_not_mix_their_maps(plain):
    plain.write(CUDA, PROGRAM)
    launches = [f"pinstep-launch {options} -- /usr/bin/python3 {CUDA}" for options in
                ("", f"--topology={TOPOLOGY}", f"--topology={TOPOLOGY} --visible=own")]
    job = plain.sbatch(f"srun sh -c '{'; '.join(launches)}' 2>&1", "-N1", "-n2", "--gpus-per-task=1").ok()
    step = Step(job)
    assert sorted(map(str, step.of("devices"))) == sorted(map(str, [[0], [1], [0], [1], [0, 1], [0, 1]]))
    assert len([line for line in step.warnings if "there is no GPU" in line]) == 1


def test_without_a_map_the_program_starts_unbound_and_one_line_says_why(plain):
    result = plain.srun("-N1", "-n2", "pinstep-launch", "--topology=/etc/passwd", "--", "echo", "started").ok()
    assert result.lines == ["started"] * 2
    warning, = said(result.err)
    assert warning == (f"pinstep: warning: {plain.nodes[0]}: ranks are not bound: '/etc/passwd' is neither hwloc's XML "
                       "nor a topology file of NCCL (lstopo FILE.xml writes one)")


@pytest.fixture
def bare_shm(own_cluster):
    """as_root(command) on the node where step(*arguments) then runs: an own cluster, whose /dev/shm can be spoilt."""
    plain = own_cluster(Wanted("plain", plugin=True, more=("--cpus", "2")))
    node = plain.nodes[0]
    uid = plain.run("id", "-u").ok().lines[0]

    def as_root(command):
        plain.run("sh", "-c", command.replace("UID", uid), user="root", node=node).ok()

    def step(*arguments, before=""):
        return plain.srun("-w", node, "-N1", "-n2", "-c1", "sh", "-c",
                          f"{before} exec pinstep-launch {' '.join(arguments)} -- printenv OMP_NUM_THREADS").ok()
    return as_root, step


@pytest.mark.parametrize("spoil", [
    "mount -t tmpfs -o size=4k none /dev/shm; mkdir -m 700 /dev/shm/pinstep-UID; chown UID:UID /dev/shm/pinstep-UID; "
    "head -c 4096 /dev/zero >/dev/shm/full || true",
    "mount -t tmpfs none /dev/shm; mkdir -m 700 /dev/shm/pinstep-UID; chown UID:UID /dev/shm/pinstep-UID; "
    "mount -o remount,ro /dev/shm",
    "rm -rf /dev/shm/pinstep-UID; mkdir -m 777 /dev/shm/pinstep-UID",
], ids=["full", "read-only", "a stranger's"])
def test_where_the_first_directory_cannot_be_used_the_second_is(bare_shm, spoil):
    as_root, step = bare_shm
    as_root("rm -rf /tmp/pinstep-UID; " + spoil)
    result = step()
    assert said(result.err) == [] and result.lines == ["1", "1"], "each rank is bound to a core"
    as_root("test -d /tmp/pinstep-UID/*.0.0")


def test_a_umask_of_the_users_closes_no_directory(bare_shm):
    as_root, step = bare_shm
    as_root("rm -rf /dev/shm/pinstep-UID /tmp/pinstep-UID; mkdir -m 0 /dev/shm/pinstep-UID; "
            "chown UID:UID /dev/shm/pinstep-UID")
    for before in ("", "umask 777;"):
        result = step(before=before)
        assert said(result.err) == [] and result.lines == ["1", "1"]
    as_root("test ! -e /tmp/pinstep-UID")


def test_where_no_directory_can_be_used_each_rank_makes_the_map(bare_shm):
    as_root, step = bare_shm
    as_root("for place in /dev/shm /tmp; do rm -rf $place/pinstep-UID; mkdir -m 777 $place/pinstep-UID; done")
    result = step()
    assert said(result.err) == [] and result.lines == ["1", "1"]


def test_a_rank_that_is_not_the_first_says_what_it_lacks(plain):
    """Local rank 0 has no part in it: the others speak, once."""
    program = plain.write("/home/alice/alone.sh", '#!/bin/sh\n[ $SLURM_LOCALID = 0 ] && exec sleep 8\nexec '
                          f"pinstep-launch --topology={TOPOLOGY} -- true\n", mode=0o755)
    job = plain.sbatch(f"srun {program} 2>&1", "-N1", "-n3", "--gpus-per-task=1").ok()
    warning, = [line for line in job.lines if line.startswith("pinstep: ")]
    assert "ranks are not bound: local rank 0 has not come to say which GPUs it has" in warning


def test_strict_wants_as_many_gpus_as_are_asked_for(cluster):
    job = cluster.sbatch(f"srun --gpus-per-task=2 pinstep-launch --topology={TOPOLOGY} --gpus-per-rank=1 --strict -- "
                         "echo started 2>&1", "-N1", "-n2", "--gpus-per-task=2")
    assert set(job.wait().states()) == {"FAILED"} and "started" not in job.lines, job
    assert any("a rank has 2 GPUs of its own, not the 1 of --gpus-per-rank" in line for line in job.lines), job
