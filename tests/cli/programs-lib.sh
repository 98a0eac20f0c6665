# programs-lib.sh: runs programs of programs.list without sonde and under several kinds of recording, and compares
# them (programs.py).

# programs_run OPTIONS…: passes them to programs.py; $programs_ran is the number of programs that are installed.
programs_run() {
	mkdir -p data runs
	chmod 755 . data runs
	seq 1 60000 | awk '{ print $1, $1 * 7919 % 10007, "line of text" }' >data/text
	head -n 50 data/text >data/short
	local list code=0
	list=$repo/tests/cli/programs.list
	DATA=$PWD/data TARGETS=$SONDE_BUILD/tests/targets python3 "${list%.list}.py" "$list" "$PWD/runs" "$@" | tee log || code=$?
	[ $code -eq 0 ] || fail "programs were changed"
	programs_ran=$(sed -n 's/^\([0-9]*\) unchanged.*/\1/p' log)
}
