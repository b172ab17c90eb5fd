"""Where things are inside a node, whatever the cluster."""

SLURM_CONF = "/etc/slurm/slurm.conf"
PLUGSTACK = "/etc/slurm/node/plugstack.conf"
TOPOLOGY = "/etc/pinstep-topology.xml"
MUNGE_SOCKET = "/run/munge/munge.socket.2"

USER_PATH = "/usr/local/bin:/usr/bin:/bin"
ROOT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
