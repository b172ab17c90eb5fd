# bash completion for pinstep and its other programs, where bash-completion finds it when needed; or source this
# file in ~/.bashrc. Where nothing is offered bash offers files.

# Sets `word` to what is being typed and `option` to the option that it is the value of, if any. Bash has
# split "--option=value" at the '='.
_pinstep_word() {
	word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}
	if [[ $word == = ]]; then
		word=
	elif [[ $option == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	fi
}

_pinstep_offer() {
	COMPREPLY=($(compgen -W "$1" -- "$word"))
}

# A prefix: a directory, typed on with or without a '/', or none.
_pinstep_prefix() {
	local IFS=$'\n'
	COMPREPLY=($(compgen -W none -- "$word") $(compgen -d -- "$word"))
	compopt -o filenames
}

_pinstep() {
	local option word
	_pinstep_word
	case $COMP_CWORD:$option:${COMP_WORDS[1]} in
	1:*) _pinstep_offer 'setup init lock lint add remove profile build run list show diff export tag untag gc sbatch salloc srun activate doctor resolve --help --version' ;;
	*:--shape:resolve) _pinstep_offer 'auto rank torchrun spawn none' ;;
	*:--lock:resolve | *:--env-lock:*) _pinstep_offer 'auto frozen update' ;;
	*:--build:resolve | *:--env-build:*) _pinstep_offer 'submit job never' ;;
	*:--env-rendezvous:*) _pinstep_offer 'auto rank torchrun spawn none' ;;
	*:--env-spec:*) _pinstep_prefix ;;
	*:--from:setup | *:--dir:setup | *:--download:setup) COMPREPLY=($(compgen -d -- "$word")) ;;
	*:setup) _pinstep_offer '--from --dir --download --json --help' ;;
	*:--profile:lock | *:--profile:lint) _pinstep_offer "$(pinstep profile list 2>/dev/null | cut -d' ' -f1)" ;;
	*:--output:profile | *:-o:profile) compopt -o default ;;
	2:*:profile) _pinstep_offer 'list show detect check --help' ;;
	*:profile)
		if [[ $word == -* ]]; then
			_pinstep_offer '--platform --output --json --help'
		fi ;;
	*:--channel-priority:lock) _pinstep_offer 'strict flexible disabled' ;;
	*:--channel:init) _pinstep_offer 'conda-forge defaults' ;;
	*:--from:init | *:--output:init) ;;
	*:init)
		if [[ $word == -* ]]; then
			_pinstep_offer '--from --channel --output --json --help'
		fi ;;
	*:--python:lock) ;;
	*:lock)
		if [[ $word == -* ]]; then
			_pinstep_offer '--platform --profile --virtual-package --channel-priority --exclude-newer --update --update-all --time-limit --output --check --python --extra --group --fetch-hashes --offline --json --help'
		fi ;;
	*:--spec:*) ;;
	*:add) _pinstep_offer '--pip --spec --offline --json --help' ;;
	*:remove) _pinstep_offer '--pip --spec --offline --json --help' ;;
	*:--ignore:lint) _pinstep_offer "$(pinstep lint --rules 2>/dev/null | cut -d' ' -f1)" ;;
	*:lint)
		if [[ $word == -* ]]; then
			_pinstep_offer '--profile --virtual-package --ignore --rules --json --help'
		fi ;;
	*:--store:*) COMPREPLY=($(compgen -d -- "$word")) ;;
	*:build)
		if [[ $word == -* ]]; then
			_pinstep_offer '--store --platform --no-compile --jobs --json --quiet --verbose --help'
		fi ;;
	*:run)
		if [[ $option == run && $word == -* ]]; then
			_pinstep_offer '--env --store --help'
		elif [[ $option != -e && $option != --env ]]; then
			COMPREPLY=($(compgen -c -- "$word"))
		fi ;;
	*:list) _pinstep_offer '--store --json --help' ;;
	*:show)
		if [[ $word == -* ]]; then
			_pinstep_offer '--store --json --help'
		fi ;;
	*:diff)
		if [[ $word == -* ]]; then
			_pinstep_offer '--platform --store --json --help'
		fi ;;
	*:--format:export) _pinstep_offer 'explicit conda-lock environment requirements pixi' ;;
	*:export)
		if [[ $word == -* ]]; then
			_pinstep_offer '--format --platform --store --help'
		fi ;;
	*:tag)
		if [[ $word == -* ]]; then
			_pinstep_offer '--store --json --help'
		fi ;;
	*:untag) _pinstep_offer '--store --json --help' ;;
	*:gc) _pinstep_offer '--dry-run --keep-days --max-size --cache --store --quiet --json --help' ;;
	*:sbatch) _pinstep_offer '--env-spec --env-lock --env-build --env-rendezvous --env-gpu-share --help' ;;
	*:salloc) _pinstep_offer '--env-spec --env-lock --env-build --env-rendezvous --env-gpu-share --help' ;;
	*:srun) _pinstep_offer '--env-spec --env-lock --env-build --env-rendezvous --env-gpu-share --help' ;;
	*:activate) _pinstep_offer '--json --help' ;;
	*:--plugstack:doctor) ;;
	*:doctor) _pinstep_offer '--nodes --json --probe --plugstack --help' ;;
	*:resolve)
		if [[ $word == -* ]]; then
			_pinstep_offer '--export --json --lock --build --shape --gpu-share --no-batch-step --site --help'
		else
			_pinstep_prefix
		fi ;;
	esac
}

_pinstep_launch() {
	local i option word
	_pinstep_word
	# After the options comes a command of its own.
	for ((i = 1; i < COMP_CWORD; ++i)); do
		[[ ${COMP_WORDS[i]} == -- ]] && break
	done
	case $option in
	--env-spec) _pinstep_prefix; return ;;
	--bind) _pinstep_offer 'auto none'; return ;;
	--visible) _pinstep_offer 'all own'; return ;;
	--memory) _pinstep_offer 'preferred bind none'; return ;;
	--shape) _pinstep_offer 'auto rank torchrun spawn none'; return ;;
	esac
	if ((i < COMP_CWORD)); then
		((i + 1 == COMP_CWORD)) && COMPREPLY=($(compgen -c -- "$word"))
	elif [[ " ${COMP_WORDS[*]:1:COMP_CWORD-1} " == *' verify '* ]]; then
		_pinstep_offer '--json --timeout'
	elif [[ $word == -* ]]; then
		_pinstep_offer '--env-spec --shape --child --bind --memory --visible --gpus-per-rank --topology --nccl-topology --nics
			--ignore-link --system-cores --nccl-topo-file --strict --print-map --score --svg --verbose --dry-run --ranks --gpus
			--cpus --json --timeout --help --version --'
	else
		_pinstep_offer 'verify'
	fi
}

_pinstep_worker() {
	local option word
	_pinstep_word
	((COMP_CWORD == 1)) && { _pinstep_offer 'train bench check report --help --version'; return; }
	case $option:${COMP_WORDS[1]} in
	--store:*) _pinstep_offer 'auto tcp pmix' ;;
	*:report)
		_pinstep_offer '--svg --json --help'
		[[ $word == -* || $option == --svg ]] || compopt -o dirnames ;;
	--signal:*) _pinstep_offer 'USR1 USR2 HUP INT QUIT XCPU ALRM' ;;
	--data:* | --save:* | --log:* | --checkpoint:*) compopt -o dirnames ;;
	--order:*) ;;
	--model:*) _pinstep_offer 'mlp cnn synthetic:' ;;
	--optimizer:*) _pinstep_offer 'sgd adamw' ;;
	*:train) _pinstep_offer '--data --images --test-images --order --drop-last --loaders --model --hidden
			--channels --epochs --steps --batch --accumulate --optimizer --lr --momentum --weight-decay --seed
			--virtual-shards --store --timeout --start-timeout --bucket --first-bucket
			--checkpoint --checkpoint-steps --signal --requeue --log --save --json --help' ;;
	*:check)
		_pinstep_offer '--timeout --max-skew --min-bandwidth --max-latency --min-memory --min-shm --store --json --help' ;;
	*:bench)
		_pinstep_offer '--min --max --factor --iterations --batch --hidden --store --timeout --start-timeout --json --help'
		[[ $word == -* ]] ||
			_pinstep_offer 'all-reduce broadcast all-gather send-receive overlap scaling' ;;
	esac
}

complete -o default -F _pinstep pinstep
complete -o default -F _pinstep_launch pinstep-launch
complete -o default -F _pinstep_worker pinstep-worker
