# resources: what reading processes and the machine each 100 ms takes
source "$(dirname "$0")/lib.bash"

rounds=$(n 5 2)
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
done

judge "share of a core at 100 ms, 1 process" share.1.1 % "–" "≤ 0.2 %" "<=" 0.2
judge "share of a core at 100 ms, 50 threads" share.1.50 % "–" "≤ 0.2 %" "<=" 0.2
info "a round, 1 process, at 100 ms" round.1.1 us "in a loop $(text warm us)"
info "a round, 10 processes" round.10.1 us "–"
info "a round, 100 processes" round.100.1 us "–"
