"""The machines of the test data, and what is known of them (testdata/README.md, sections 6 and 7)."""

# name: (file, GPUs)
_FILES = {
    "booster": ("hwloc/psmgmt--topo.jwb0004.xml", 4),
    "meluxina": ("hwloc/psmgmt--topo.mel2001.xml", 4),
    "juwels": ("hwloc/psmgmt--topo.jwc09n003.xml", 4),
    "lassen": ("hwloc/mpibind--coral-lassen.xml", 4),
    "tioga": ("hwloc/mpibind--eas-tioga.xml", 8),
    "pascal": ("hwloc/mpibind--cts1-pascal.xml", 2),
    "g4dn": ("hwloc/mpibind--g4dnmetal.xml", 8),
    "turin": ("hwloc/prrte--turin-4gpu-nvml.xml", 4),
    "turin-part": ("hwloc/openpmix--nvml-4gpu.xml", 4),
    "g5": ("nccl/aws-ofi-nccl--g5.48xl-topo.xml", 0),
    "p4d": ("nccl/aws-ofi-nccl--p4d-24xl-topo.xml", 8),
    "ndv4": ("nccl/azhpc-images--ndv4-topo.xml", 8),
    "ndv5": ("nccl/azhpc-images--ndv5-topo.xml", 8),
    "3p-pcie": ("nccl/rccl--topo_3p_pcie.xml", 3),
    "4p1h": ("nccl/rccl--topo_4p1h_1.xml", 4),
    "4p2h-2nic": ("nccl/rccl--topo_4p2h_2nic.xml", 8),
    "4p4h": ("nccl/rccl--topo_4p4h.xml", 16),
    "8p1h": ("nccl/rccl--topo_8p1h_1.xml", 8),
    "8p6l-3nic": ("nccl/rccl--topo_8p6l_3nic.xml", 8),
    "8p6l-5nic": ("nccl/rccl--topo_8p6l_5nic.xml", 8),
    "8p6l-6nic": ("nccl/rccl--topo_8p6l_6nic.xml", 8),
    "8p-940vm": ("nccl/rccl--topo_8p_940vm.xml", 8),
    "8p-rome": ("nccl/rccl--topo_8p_rome_n2_2.xml", 8),
    "8p-ts1": ("nccl/rccl--topo_8p_ts1.xml", 8),
    "16p1h-vm": ("nccl/rccl--topo_16p1h_vm.xml", 16),
}
MACHINES = {name: path for name, (path, _) in _FILES.items()}
GPUS = {name: gpus for name, (_, gpus) in _FILES.items()}
