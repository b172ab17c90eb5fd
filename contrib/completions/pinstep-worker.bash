# bash completion for pinstep-worker: it is in the file of pinstep.
. "${BASH_SOURCE[0]%-worker.bash}.bash"
