"""A node's root file system.

Contract: `build` runs in the node's fresh mount, network, IPC and cgroup
namespaces and ends with the node's root as the process's root. The root is an
overlay over the host's (or a second Slurm's) root whose upper layer is a tmpfs
in this mount namespace: whatever is written there, mount points included, is
seen by this node alone and goes with it. Directories that must outlast the
node or be seen from outside are bind mounts from the cluster's directory.
"""

import errno
import glob
import os
import stat

import config
import inside
import syscalls
from syscalls import MS_BIND, MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_PRIVATE, \
    MS_RDONLY, MS_REC, MS_REMOUNT

# Device nodes copied from the host where it has them.
DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "fuse",
           "net/tun", "loop-control", "loop[0-9]*", "nvidia*", "dri/*",
           "infiniband/*", "kfd")

# Mounts of the host that a node has its own of.
OWN_MOUNTS = ("/dev", "/proc", "/sys", "/run", "/tmp")


def build(plan, node):
    os.umask(0o022)
    _make_private()
    host_mounts = parse_mountinfo(_read("/proc/self/mountinfo"))
    stage = plan.node_path(node, "root")
    root = _overlay(plan.root, stage)
    if plan.root == "/":
        for path in submounts(host_mounts, plan.directory):
            _bind(path, root + path)
    _kernel_file_systems(plan, root)
    _devices(plan, root)
    _own_directories(plan, node, root)
    _files(plan, node, root)
    _bind_at_same_path(plan.checkout, root)
    for source, target, mode in plan.binds:
        _bind(source, root + target, read_only=mode == "ro")
    _enter(root)


def parse_mountinfo(text):
    """/proc/self/mountinfo → mount points, in the order they were mounted."""
    return [line.split()[4].encode().decode("unicode_escape")
            for line in text.splitlines()]


def submounts(mount_points, directory):
    """The host's mounts that an overlay over / would not show."""
    def wanted(path):
        return path != "/" and not _below(path, directory) and \
            not any(_below(path, own) for own in OWN_MOUNTS)
    return list(dict.fromkeys(filter(wanted, mount_points)))


def _below(path, top):
    return path == top or path.startswith(top + "/")


def _overlay(lower, stage):
    # Relative names: a comma or a colon in the path would end the option.
    syscalls.mount("tmpfs", stage, "tmpfs", MS_NOSUID, "mode=755")
    os.chdir(stage)
    for name in ("lower", "upper", "work", "merged"):
        os.mkdir(name)
    syscalls.mount(lower, "lower", "", MS_BIND)
    syscalls.mount("overlay", "merged", "overlay", 0,
                   "lowerdir=lower,upperdir=upper,workdir=work")
    return os.path.join(stage, "merged")


def _kernel_file_systems(plan, root):
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    _mount_new("proc", root + "/proc", "proc", flags)
    # A fresh sysfs, since /sys/class/net shows the network namespace of the
    # process that mounted it. It has no cgroup mounts: those come back below.
    _mount_new("sysfs", root + "/sys", "sysfs", flags)
    if plan.cgroups:
        top = root + "/sys/fs/cgroup"
        syscalls.mount("tmpfs", top, "tmpfs", flags, "mode=755")
        for controller, path in plan.cgroups:
            _bind(path, f"{top}/{controller}")


def _devices(plan, root):
    top = root + "/dev"
    _mount_new("tmpfs", top, "tmpfs", MS_NOSUID, "mode=755")
    os.umask(0)
    for pattern in DEVICES:
        for path in glob.glob("/dev/" + pattern):
            info = os.stat(path)
            if stat.S_ISCHR(info.st_mode) or stat.S_ISBLK(info.st_mode):
                _mknod(root + path, info.st_mode, info.st_rdev)
    for number, device in enumerate(plan.gpu_devices):
        _mknod(f"{root}{plan.gpu_prefix}{number}", stat.S_IFCHR | 0o666,
               os.makedev(*device))
    os.umask(0o022)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"),
                         ("stdout", "/proc/self/fd/1"),
                         ("stderr", "/proc/self/fd/2"), ("ptmx", "pts/ptmx")):
        os.symlink(target, f"{top}/{name}")
    _mount_new("devpts", top + "/pts", "devpts", MS_NOSUID | MS_NOEXEC,
               "newinstance,ptmxmode=0666,mode=620,gid=5")
    _mount_new("tmpfs", top + "/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
    _mount_new("mqueue", top + "/mqueue", "mqueue", MS_NOSUID | MS_NODEV)


def _mknod(path, mode, device):
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    if os.path.lexists(path):
        os.unlink(path)
    os.mknod(path, mode, device)


def _own_directories(plan, node, root):
    _mount_new("tmpfs", root + "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
    os.makedirs(root + "/run/munge")
    os.makedirs(root + "/run/lock", mode=0o1777)
    # Login shells read what packages of the host put there.
    _mount_new("tmpfs", root + "/etc/profile.d", "tmpfs", MS_NOSUID | MS_NODEV,
               "mode=755")
    for source, target in (
            (plan.node_path(node, "tmp"), "/tmp"),
            (plan.node_path(node, "var-tmp"), "/var/tmp"),
            (plan.node_path(node, "spool"), "/var/spool/slurm"),
            (plan.node_path(node, "pinstep"), "/etc/pinstep"),
            (plan.path("slurm"), "/etc/slurm"),
            (plan.node_path(node, "slurm"), "/etc/slurm/node"),
            (plan.path("munge"), "/etc/munge"),
            (plan.path("log"), "/var/log/slurm"),
            (plan.path("home"), "/home")):
        _bind(source, root + target)


def _files(plan, node, root):
    for path, text in config.system_files(plan, node).items():
        target = os.path.join(root, path)
        if os.path.lexists(target):
            os.unlink(target)       # resolv.conf is often a symbolic link
        with open(target, "w") as file:
            file.write(text)
    os.chmod(root + "/etc/shadow", 0o640)
    os.chmod(root + "/etc/gshadow", 0o640)
    if node.topology:
        with open(node.topology, "rb") as source, \
                open(root + inside.TOPOLOGY, "wb") as target:
            target.write(source.read())


def _make_private():
    """Keep our mounts to ourselves; in a chroot, "/" names no mount to say it of."""
    here = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    _to_namespace_root()
    syscalls.mount("none", "/", "", MS_REC | MS_PRIVATE)
    os.fchdir(here)
    os.chroot(".")
    os.close(here)


def _to_namespace_root():
    """Entering the mount namespace one is in leaves any chroot."""
    fd = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    syscalls.setns(fd, syscalls.CLONE_NEWNS)
    os.close(fd)


def _enter(root):
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    _to_namespace_root()
    os.fchdir(fd)
    os.close(fd)
    try:
        syscalls.pivot_root(".", ".")
        syscalls.umount(".", syscalls.MNT_DETACH)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        os.chroot(".")      # the machine's root is its initial ramfs
    os.chdir("/")


def _bind(source, target, read_only=False):
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        open(target, "w").close()
    syscalls.mount(source, target, "", MS_BIND)
    if read_only:
        syscalls.mount("none", target, "", MS_BIND | MS_REMOUNT | MS_RDONLY)


def _bind_at_same_path(path, root):
    """A mount point that is missing, below /tmp above all, gets parents with
    the modes they have on the host: a 0700 directory must not open up."""
    made = root
    for part in path.strip("/").split("/"):
        made = f"{made}/{part}"
        if not os.path.lexists(made):
            os.mkdir(made)
            os.chmod(made, stat.S_IMODE(os.stat(made[len(root):]).st_mode))
    _bind(path, root + path)


def _mount_new(source, target, kind, flags=0, options=""):
    os.makedirs(target, exist_ok=True)
    syscalls.mount(source, target, kind, flags, options)


def _read(path):
    with open(path) as file:
        return file.read()
