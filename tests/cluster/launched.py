"""What a program finds that pinstep-launch has started on a node with stand-ins for GPUs."""

import json

TOPOLOGY = "/etc/pinstep-topology.xml"
CUDA = "/home/alice/cuda.py"

# What a CUDA program finds: the devices it may open, in the order and selection of the variable.
PROGRAM = r"""
import glob, json, os
def opens(path):
    try:
        os.close(os.open(path, os.O_RDONLY))
        return True
    except OSError:
        return False
numbers = sorted(int(path[len('/dev/nvidia'):]) for path in glob.glob('/dev/nvidia[0-9]*') if opens(path))
visible = os.environ.get('CUDA_VISIBLE_DEVICES')
devices = numbers if visible is None else [numbers[int(index)] for index in visible.split(',') if index]
names = ('SLURMD_NODENAME', 'CUDA_VISIBLE_DEVICES', 'CUDA_DEVICE_ORDER', 'NCCL_IB_HCA', 'UCX_NET_DEVICES',
         'OMP_NUM_THREADS')
print(json.dumps({'rank': int(os.environ['SLURM_PROCID']), 'local': int(os.environ['SLURM_LOCALID']),
                  'devices': devices, 'cpus': sorted(os.sched_getaffinity(0)),
                  **{name: os.environ.get(name) for name in names}}))
"""


class Step:
    def __init__(self, job):
        self.ranks = sorted((json.loads(line) for line in job.lines if line.startswith('{"rank":')),
                            key=lambda rank: rank["rank"])
        self.warnings = [line for line in job.lines if line.startswith("pinstep: ")]
        self.lines = job.lines

    def of(self, name):
        return [rank[name] for rank in self.ranks]

    @property
    def own_devices(self):
        """What cuda:LOCAL_RANK is for each rank."""
        return [rank["devices"][rank["local"]] for rank in self.ranks]

    @property
    def maps(self):
        """Of each node that --print-map --json has shown."""
        return {map["node"]: map for map in (json.loads(line) for line in self.lines if line.startswith('{"node"'))}

    def devices_by_map(self, rank):
        """The numbers of the device files that the map gives the rank: those of this machine are in bus order."""
        map = self.maps[rank["SLURMD_NODENAME"]]
        buses = ["0000:13:00.0", "0000:14:00.0", "0000:93:00.0", "0000:94:00.0"]
        return [buses.index(map["gpus"][gpu]["bus"]) for gpu in map["ranks"][rank["local"]]["gpus"]]


def run(cluster, job, launch="", srun="", env=(), before="", command=None):
    """The step of one job on one node; its output and errors together."""
    cluster.write(CUDA, PROGRAM)
    command = command or f"/usr/bin/python3 {CUDA}"
    script = f"{before}\nsrun {srun} pinstep-launch --topology={TOPOLOGY} {launch} -- {command} 2>&1"
    return Step(cluster.sbatch(script, *([] if "-N2" in job else ["-N1"]), *job, env=env).ok())
