# resources: overhead of polling processes and the system every 100 ms, and of a screen of `sonde top`
source "$(dirname "$0")/lib.bash"

rounds=$(n 5 2)
short=$(n 4 2)
long=$(n 16 4)

# A screen of 80×24 of a busy process, for so many seconds.
screen() {
	timeout 60 bash -c 'while :; do :; done' &
	local busy=$!
	python3 "$repo/tests/cli/screen.py" "wait=$1" key=q end=0 -- "$programs/cost" "$work/cost.top.$1" "$SONDE" top -p $busy
	kill $busy
}

each=$(n 50 10)
for ((i = 0; i < rounds; i++)); do
	for shape in "1 1" "1 50" "10 1" "100 1"; do
		read -r processes threads <<<"$shape"
		read -r us share < <("$programs/resources" "$processes" "$threads" "$each" 100)
		keep "round.$processes.$threads" "$us"
		keep "share.$processes.$threads" "$share"
	done
	read -r us _ < <("$programs/resources" 1 1 500 0)
	keep warm "$us"
	screen "$short"
	screen "$long"
done

paired top "top.$long" "top.$short" cpu "100 * (a - b) / ($long - $short)"

judge "share of a core at 100 ms, 1 process" share.1.1 % "–" "≤ 0.2 %" "<=" 0.2
judge "share of a core at 100 ms, 50 threads" share.1.50 % "–" "≤ 0.2 %" "<=" 0.2
info "a round, 1 process, at 100 ms" round.1.1 us "in a loop $(text warm us)"
info "a round, 10 processes" round.10.1 us "–"
info "a round, 100 processes" round.100.1 us "–"
judge "sonde top, a screen of one busy process: share of a core" top % "–" "≤ 1 %" "<=" 1
