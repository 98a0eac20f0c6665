# findings-examples.sh: for each program of examples/, run here, the first finding is the known defect, or the run is
# reported as too noisy; it is never another finding. Well-made programs get no critical finding. findings-recorded.sh
# tests the same with committed recordings.
# measures: times of programs, by which findings are ranked
# timeout: 400
. "$(dirname "$0")/../lib.sh"
. "$repo/tests/cli/findings-lib.sh"
need jq

examples=$SONDE_BUILD/examples
[ -x "$examples/duplicates" ] || skip "examples are not built (sanitizers)"

# Ceilings of this machine, which the verdict on some examples depends on.
has_ceilings=
"$SONDE" roofline --measure >.roof 2>&1 && has_ceilings=1

# Examples that use OpenCL end with 77 if there is no OpenCL device.
opencl="libsonde-opencl.so is not built"
if [ -x "$examples/tiny_kernels" ] && [ -e "$SONDE_BUILD/src/inject/libsonde-opencl.so" ]; then
	opencl=
	timeout 60 "$examples/tiny_kernels" fixed >/dev/null 2>&1 || { [ $? -ne 77 ] || opencl="no OpenCL device (package pocl-opencl-icd)"; }
fi

# BURN=1: a process burns CPU time on each CPU meanwhile: many runs are noisy then, and no run gets a wrong finding.
burners=()
at_exit() { [ ${#burners[@]} -eq 0 ] || kill "${burners[@]}" 2>/dev/null; }
if [ -n "${BURN:-}" ]; then
	for ((i = 0; i < $(nproc); i++)); do
		sh -c 'while :; do :; done' &
		burners+=($!)
	done
fi

skipped=() noisy=() judged=0
: >bad
while IFS=$'\t' read -r name options expected also where limiter; do
	: >.why
	command=$(command_of "$name")
	if [ -z "$command" ]; then
		skipped+=("$name: $(cat .why)")
		continue
	elif [[ $options == *--gpu* ]] && [ -n "$opencl" ]; then
		skipped+=("$name: $opencl")
		continue
	elif [[ $expected =~ roof|memory-bound ]] && [ -z "$has_ceilings" ]; then
		skipped+=("$name: the machine's ceilings are not measured")
		continue
	fi
	[ "$options" != - ] || options=
	# Which of two true findings comes first depends on the disk; for committed recordings, the order is known.
	[ "$also" = - ] || expected="$expected|$also"
	# shellcheck disable=SC2086
	run 0 timeout 60 "$SONDE" record -q --force $options -o "$name.sonde" -- $command
	[ "$expected" = false-sharing ] && "$SONDE" advise "$name.sonde" | grep 'instructions cannot be decoded' >.undecoded &&
		expected="$expected|hot-function"
	said=$(wrong "$name.sonde" "$expected" "$also" "$limiter" "$where"; echo "noise: $noise")
	noise=${said##*noise: }
	said=${said%noise: *}
	if [ -n "$said" ]; then
		printf '%s: %s\n' "$name" "${said//$'\n'/ }" | tee -a bad
	elif [ -n "$noise" ]; then
		noisy+=("$name: $noise")
	fi
	[ -n "$noise" ] || judged=$((judged + 1))
	printf '  %-16s %-27s %s\n' "$name" "$expected" "$(head -n 1 "$name.sonde.found" | cut -f 1-4)"
	rm "$name.sonde"
done < <(rows_of_examples)

echo "$judged judged, $(wc -l <bad) wrong, ${#noisy[@]} too noisy to say, ${#skipped[@]} skipped"
[ ${#noisy[@]} -eq 0 ] || printf '  noisy: %s\n' "${noisy[@]}"
[ ${#skipped[@]} -eq 0 ] || printf '  skipped: %s\n' "${skipped[@]}"
: >.out
: >.err
[ ! -s bad ] || fail "programs are told something else: $(cat bad)"
holds "$judged + ${#noisy[@]} >= 20" "examples that run here"
