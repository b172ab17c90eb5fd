# bash completion for pinstep-launch: it is in the file of pinstep.
. "${BASH_SOURCE[0]%-launch.bash}.bash"
