# what-if: predictions of sonde advise for a part of a program at twice the speed, against the program with half of that work
source "$(dirname "$0")/lib.bash"

rounds=$(n 7 2)
critical=$programs/critical
more=$(n 4 1) # how much longer than the quick runs

# NAME|part|as recorded|with half of its work|what it is. In `turns`, both threads run the part.
cases=(
	"join|thread=second|join 50 $((200 * more))|join 50 $((100 * more))|two threads, one of them the longer"
	"join shifts|thread=second|join $((160 * more)) $((200 * more))|join $((160 * more)) $((100 * more))|the other thread is the longer then"
	"locks|lock=the_lock|locks 25 $((8 * more))|locks 25 $((4 * more))|25 threads, one lock; the last holds it uncontended, which is taken to be as long as the others"
	"stages|zone=stage 2|stages $((15 * more)) 1 20 1|stages $((15 * more)) 1 10 1|a pipeline, its slow stage"
	"stages shift|zone=stage 2|stages $((15 * more)) 14 20 1|stages $((15 * more)) 14 10 1|the first stage is the slowest then"
	"turns|function=work|turns $((15 * more)) 8|turns $((15 * more)) 4|two threads in turn, by samples"
)

# span FILE PART,SPEED COLUMN: seconds.
span() {
	"$SONDE" advise -q --json --what-if "$2" "$1" | jq -r ".sections[0].rows[0].$3 // empty | . / 1e9"
}

record() { # FILE ARGUMENTS…
	local file=$1
	shift
	"$SONDE" record -q -f --threads --io -o "$file" -- "$critical" "$@" >&2
}

for ((i = 0; i < rounds; i++)); do
	say "round $((i + 1)) of $rounds"
	for line in "${cases[@]}"; do
		IFS='|' read -r name part before after _ <<<"$line"
		key=${name// /-}
		# shellcheck disable=SC2086
		{
			record before.sonde $before
			record after.sonde $after
			cost "$key.before" "$critical" $before
			cost "$key.after" "$critical" $after
		}
		predicted=$(span before.sonde "$part,speed=2" predicted_ns)
		real=$(span after.sonde thread=critical,speed=1 span_ns)
		alone=$(cost_of "$key.after" wall | tail -n 1)
		keep "$key.predicted" "$predicted"
		keep "$key.real" "$real"
		keep "$key.span" "$(calc "$predicted / $real")"
		keep "$key.wall" "$(calc "$predicted / $alone")"
	done
done

# off SERIES: by how many per cent the median differs from the expected value.
off() {
	awk -v x="$(median "$1")" 'BEGIN { print 100 * (x > 1 ? x - 1 : 1 - x) }'
}

for line in "${cases[@]}"; do
	IFS='|' read -r name part before after what <<<"$line"
	key=${name// /-}
	has "$key.span" || continue
	off "$key.span" >>spans
	off "$key.wall" >>walls
	info "$name, ${part#*=} twice as fast: predicted span ÷ real span" "$key.span" "" \
		"predicted $(text "$key.predicted" s), real $(text "$key.real" s)" "$what"
	info "$name: predicted span ÷ wall time of the run alone" "$key.wall" "" \
		"wall $(number "$(cost_of "$key.after" wall | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')") s"
done
[ ! -f spans ] || sort -g spans | tail -n 1 | keep worst.span
[ ! -f walls ] || sort -g walls | tail -n 1 | keep worst.wall
judge "the worst prediction, of ${#cases[@]}: from the span of the real run" worst.span % "–" "≤ 10 %" "<=" 10
judge "the same, from its wall time alone" worst.wall % "–" "≤ 10 %" "<=" 10
