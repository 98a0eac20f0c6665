# completion.sh: the completion scripts are valid shell and offer the commands, options and values from the tables.
# tier: quick
. "$(dirname "$0")/../lib.sh"

run 0 "$SONDE" --help
commands=$(sed -n 's/^  \([a-z]*\) .*/\1/p' .out)

run 0 "$SONDE" completion bash
cp .out sonde.bash
bash -n sonde.bash
. ./sonde.bash
complete_words() { # WORD… of which the last is completed
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMPREPLY=()
	_sonde
	echo " ${COMPREPLY[*]:-} "
}
offered=$(complete_words sonde "")
for command in $commands; do
	has "$offered" " $command "
	run 0 "$SONDE" "$command" --help
	for option in $(grep -oE '^  (-., |    )--[a-z-]+' .out | grep -oE -- '--[a-z-]+'); do
		has "$(complete_words sonde "$command" --)" " $option "
	done
done
equal "$(complete_words sonde compl)" " completion "
lacks "$offered" " man "

for shell in zsh fish; do
	run 0 "$SONDE" completion $shell
	for command in $commands; do
		matches "$out" "\b$command\b"
	done
	if command -v $shell >/dev/null; then
		$shell -n .out || fail "$shell does not take its script"
	fi
done

run 2 "$SONDE" completion
has "$err" "bash, zsh or fish"
run 2 "$SONDE" completion csh
has "$err" "no shell 'csh'"
