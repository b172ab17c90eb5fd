# A constant, a path in the prefix, one put in front of a list, and one saved for later.
export ACTIVATION_DEMO=1
export ACTIVATION_DEMO_HOME="$CONDA_PREFIX/share/activation-demo"
export PATH="$ACTIVATION_DEMO_HOME/bin:$PATH"
export ACTIVATION_DEMO_PATH="$ACTIVATION_DEMO_HOME${ACTIVATION_DEMO_PATH:+:$ACTIVATION_DEMO_PATH}"
if [ -n "${LESS+x}" ]; then
	export ACTIVATION_DEMO_SAVED_LESS="$LESS"
fi
export LESS=-R
