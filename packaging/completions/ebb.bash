# bash completion of ebb; made by "ebb completion bash".

_ebb_words()
{
	mapfile -t COMPREPLY < <(compgen "$@" -- "$current")
	[ "${1#-[fd]}" = "$1" ] || compopt -o filenames 2>/dev/null
}

_ebb()
{
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} i
	local flags='' valued='' files='' directories='' names='' operand=''

	COMPREPLY=()
	# --flag=value comes as three words.
	[ "$current" != = ] || current=
	[ "$previous" != = ] || previous=${COMP_WORDS[COMP_CWORD - 2]}
	if [ "$COMP_CWORD" -eq 1 ] || { [ "$COMP_CWORD" -eq 2 ] && [ "${COMP_WORDS[1]}" = help ]; }; then
		_ebb_words -W 'run watch doctor compare size check report profile env help --help --version'
		return
	fi
	case ${COMP_WORDS[1]} in
	run)
		flags='--help --allocator --conf --ready-tcp --ready-http --ready-log --ready-timeout --load --work --rest --grace --label --save --json --bytes'
		valued=' --allocator --conf --ready-tcp --ready-http --ready-log --ready-timeout --load --work --rest --grace --label --save '
		files=' --save '
		directories=' '
		names=' --allocator '
		operand='command'
		;;
	watch)
		flags='--help --once --interval --count --csv --json --prometheus --ledger --bytes'
		valued=' --interval --count --prometheus --ledger '
		files=' '
		directories=' '
		names=' '
		operand='process'
		;;
	doctor)
		flags='--help --ledger --save --stop --json --bytes'
		valued=' --ledger --save '
		files=' '
		directories=' --save '
		names=' '
		operand='file'
		;;
	compare)
		flags='--help --allocators --variant --variant-command --runs --ready-tcp --ready-http --ready-log --ready-timeout --load --work --rest --grace --before --then --evict --between --save --json --bytes'
		valued=' --allocators --variant --variant-command --runs --ready-tcp --ready-http --ready-log --ready-timeout --load --work --rest --grace --before --then --evict --between --save '
		files=' --save '
		directories=' '
		names=' --allocators '
		operand='command'
		;;
	size)
		flags='--help --rates --event-bytes --connections --sweep --requests --url --seconds --late --patience --steps --box --share --allocator --conf --ready-tcp --ready-http --ready-log --ready-timeout --rest --grace --save --json --bytes'
		valued=' --rates --event-bytes --connections --sweep --requests --url --seconds --late --patience --steps --box --share --allocator --conf --ready-tcp --ready-http --ready-log --ready-timeout --rest --grace --save '
		files=' --requests --save '
		directories=' '
		names=' --allocator '
		operand='command'
		;;
	check)
		flags='--help --runs --baseline --save --junit --markdown --annotations --json --bytes --init -o --ready-tcp --ready-http --ready-log --load --rest --allocator --budget'
		valued=' --runs --baseline --save --junit --markdown -o --ready-tcp --ready-http --ready-log --load --rest --allocator --budget '
		files=' --baseline --save --junit --markdown -o '
		directories=' '
		names=' --allocator '
		operand='file'
		;;
	report)
		flags='--help --html --markdown --csv --json --bytes'
		valued=' --html '
		files=' --html '
		directories=' '
		names=' '
		operand='file'
		;;
	profile)
		flags='--help -o --svg --folded --json --total --all --bytes'
		valued=' -o --svg '
		files=' -o --svg '
		directories=' '
		names=' '
		operand='process'
		;;
	env)
		flags='--help --sh --systemd --unit --docker --budget --conf --for --libc --library --check --json'
		valued=' --unit --budget --conf --for --libc --library --check '
		files=' --library '
		directories=' '
		names=' '
		operand='nothing'
		;;
	*) return ;;
	esac
	# What begins behind the flags, or behind --, is a command with words of its own.
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--) break ;;
		-*) [[ $valued != *" ${COMP_WORDS[i]} "* || ${COMP_WORDS[i + 1]} == = ]] || ((i++)) ;;
		=) ((i++)) ;;
		*) [ "$operand" != command ] || break ;;
		esac
	done
	if [ $i -lt "$COMP_CWORD" ]; then
		[ "${COMP_WORDS[i]}" != -- ] || ((i++))
		if [ $i -eq "$COMP_CWORD" ] && [ "$operand" = command ]; then
			_ebb_words -c
		elif [ "$operand" = command ] && declare -F _command_offset >/dev/null; then
			_command_offset $i
		else
			_ebb_words -f
		fi
	elif [[ $names == *" $previous "* ]]; then
		_ebb_words -W 'ebb glibc jemalloc mimalloc tcmalloc ' -f
	elif [[ $files == *" $previous "* ]]; then
		_ebb_words -f
	elif [[ $directories == *" $previous "* ]]; then
		_ebb_words -d
	elif [[ $valued == *" $previous "* ]]; then
		return
	elif [[ $current == -* ]]; then
		_ebb_words -W "$flags"
	else
		case $operand in
		command) _ebb_words -c ;;
		process) _ebb_words -W "$(command ls /proc | command grep '^[0-9]')" ;;
		file) _ebb_words -f ;;
		esac
	fi
}

complete -F _ebb ebb
