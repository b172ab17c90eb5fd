"""The machines of the test data, and what is known of them (testdata/README.md, section 6)."""

MACHINES = {
    "booster": "psmgmt--topo.jwb0004.xml",
    "meluxina": "psmgmt--topo.mel2001.xml",
    "juwels": "psmgmt--topo.jwc09n003.xml",
    "lassen": "mpibind--coral-lassen.xml",
    "tioga": "mpibind--eas-tioga.xml",
    "pascal": "mpibind--cts1-pascal.xml",
    "g4dn": "mpibind--g4dnmetal.xml",
    "turin": "prrte--turin-4gpu-nvml.xml",
    "turin-part": "openpmix--nvml-4gpu.xml",
}
GPUS = {"booster": 4, "meluxina": 4, "juwels": 4, "lassen": 4, "tioga": 8, "pascal": 2, "g4dn": 8, "turin": 4,
        "turin-part": 4}
