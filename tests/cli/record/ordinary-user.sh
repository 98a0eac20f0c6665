# ordinary-user.sh: if the tests run as root, the core tests run once more as an ordinary user with a home directory of
# its own.
# measures: what the core tests measure
# timeout: 400
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" -eq 0 ] || skip "the tests run as an ordinary user anyway"
need setpriv
chmod 755 "$work"
mkdir home
chown 65534:65534 home
as_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$work/home" TMPDIR="$work/home" "$@"
}
as_nobody test -x "$SONDE" -a -r "$repo/tests/cli/lib.sh" || skip "another user may not read $repo"

passed=0
for test in ${TESTS:-cpu-quick cpu-split cpu-stacks cpu-modules cpu-tasks identity identity-child zones signals record-exit bad-input bad-disk sqlite}; do
	begin=$EPOCHREALTIME code=0
	as_nobody env SECONDS_EACH=2 ROUNDS=20 timeout 120 bash "$repo"/tests/cli/*/"$test.sh" >"$test.log" 2>&1 </dev/null || code=$?
	echo "$test: $code ($(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }') s)"
	[ $code -eq 0 ] || [ $code -eq 77 ] || fail "as an ordinary user: $test: exit code $code: $(grep -A 10 "\.sh:[0-9]*: " "$test.log")"
	[ $code -ne 0 ] || passed=$((passed + 1))
	# Without perf events some tests are skipped; these need nothing that only root has.
	case $test:$code in
	identity:77 | identity-child:77 | signals:77 | record-exit:77 | bad-input:77 | bad-disk:77)
		fail "as an ordinary user: $test is skipped: $(tail -n 1 "$test.log")" ;;
	esac
done
holds "$passed > 0" "tests that an ordinary user passed"

# Only for an ordinary user: other users' processes, and what the report says about kernel time.
sleep 60 &
other=$!
run 125 as_nobody "$SONDE" record -q -o home/a.sonde -p $other -d 100ms
kill $other
matches "$err" "^sonde record: .*(not permitted|belongs to somebody else)"
[ ! -e home/a.sonde ] || fail "a recording of nothing"
