"""A prefix whose file system does not answer, as one of a stopped NFS or FUSE server.

Run in a node as root: mounts a FUSE file system at the directory given, says so and never serves it.
"""

import ctypes
import os
import sys
import time

target = sys.argv[1]
os.makedirs(target, exist_ok=True)
server = os.open("/dev/fuse", os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
options = f"fd={server},rootmode=40000,user_id=0,group_id=0,allow_other"
if libc.mount(b"stalled", target.encode(), b"fuse", 0, options.encode()):
    sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
print("mounted", flush=True)
try:
    time.sleep(600)
finally:
    libc.umount2(target.encode(), 2)
