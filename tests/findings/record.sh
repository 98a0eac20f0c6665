#!/bin/bash
# record.sh BUILD [NAME]…: records the programs of examples/ once more into tests/findings/NAME.sonde, before everything
# else that wants a CPU (SCHED_RR, as root), so that other load on the machine matters little. Run by hand, when an
# example or the format has changed; check the output of tests/cli/analyze/findings-recorded.sh before you commit the
# result. Recordings above 250 KB are not kept: these examples are tested only live, and their rules in tests/unit.
set -euo pipefail
build=$(realpath "${1:?BUILD}")
shift
cd "$(dirname "$0")"
repo=../..
most_b=250000
XDG_CACHE_HOME=$(mktemp -d)
export XDG_CACHE_HOME
trap 'rm -rf "$XDG_CACHE_HOME"' EXIT
chrt -r 10 "$build/src/cli/sonde" roofline --measure >/dev/null
while IFS=$'\t' read -r name _ options _; do
	[[ $name != '#'* ]] && { [ $# -eq 0 ] || [[ " $* " == *" $name "* ]]; } || continue
	[ "$options" != - ] || options=
	command=$build/examples/$name
	[ -x "$command" ] || command="/usr/bin/python3 $repo/examples/$name.py"
	# shellcheck disable=SC2086
	chrt -r 10 timeout 60 "$build/src/cli/sonde" record -q --force $options -o "$name.sonde" -- $command >/dev/null </dev/null
	[ "$(stat -c %s "$name.sonde")" -le $most_b ] || { echo "$name: $(stat -c %s "$name.sonde") bytes, not kept"; rm "$name.sonde"; }
done <"$repo/examples/examples.tsv"
