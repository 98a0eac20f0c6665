# heap: allocations of five programs and a loop: CPU time against the program alone, heaptrack, gperftools and a plain counter; file sizes; reports
source "$(dirname "$0")/lib.bash"
source "$repo/bench/anchors.bash"

rounds=$(n 5 2)
no_heaptrack=$(heaptrack_missing)
no_gperftools=$(gperftools_missing)
[ -z "$no_heaptrack" ] || say "$no_heaptrack"
[ -z "$no_gperftools" ] || say "$no_gperftools"

# --- the programs, each some seconds ---------------------------------------------------------------------------------

# C++ that instantiates much of the standard library, in many functions.
make_source() {
	awk -v functions="$1" 'BEGIN {
		split("algorithm functional iostream map memory regex set sstream string unordered_map variant vector", header, " ")
		for (i = 1; i in header; i++)
			printf "#include <%s>\n", header[i]
		for (i = 0; i < functions; i++) {
			printf "struct key_%d {\n\tstd::string name;\n\tint value;\n\tbool operator<(const key_%d &other) const\n\t{\n", i, i
			print "\t\treturn value < other.value || (value == other.value && name < other.name);\n\t}\n};"
			printf "std::string work_%d(const std::string &text)\n{\n", i
			printf "\tstd::map<key_%d, std::vector<std::string>> found;\n", i
			printf "\tstd::unordered_map<std::string, std::shared_ptr<key_%d>> seen;\n", i
			printf "\tstatic const std::regex pattern(\"([a-z]+)=([0-9]+){%d}\");\n", i % 7 + 1
			print "\tfor (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {"
			printf "\t\tkey_%d key{(*at)[1], std::stoi((*at)[2])};\n", i
			printf "\t\tfound[key].push_back(at->str());\n\t\tseen[key.name] = std::make_shared<key_%d>(key);\n\t}\n", i
			printf "\tstd::vector<key_%d> keys;\n\tfor (const auto &[key, texts] : found)\n\t\tkeys.push_back(key);\n", i
			printf "\tstd::sort(keys.begin(), keys.end(), [](const auto &a, const auto &b) { return a.value > b.value + %d; });\n", i
			print "\tstd::ostringstream out;\n\tfor (const auto &key : keys)\n\t\tout << key.name << key.value;\n\treturn out.str();\n}"
		}
	}'
}

make_json() {
	awk -v rows="$1" 'BEGIN {
		printf "["
		for (state = 1; i < rows; i++) {
			state = state * 16807 % 2147483647 # exact in a double
			printf "%s{\"id\":%d,\"name\":\"name %d\",\"value\":%.3f,\"tags\":[\"a%d\",\"b%d\"],\"more\":{\"x\":%d,\"y\":null}}\n",
				i ? "," : "", i, state, state / 1000, state % 17, state % 23, state % 1000
		}
		print "]"
	}'
}

# Long texts between short ones, as in documents; the anchors show heaptrack's overhead for this program.
make_documents() {
	awk -v rows="$1" 'BEGIN {
		printf "["
		for (state = 1; i < rows; i++) {
			printf "%s{\"id\":%d,\"title\":\"document %d\",\"body\":\"", i++ ? "," : "", i, state
			for (word = 0; word < 600; word++) {
				state = state * 16807 % 2147483647
				printf "w%d ", state % 20000
			}
			printf "\",\"score\":%.3f,\"tags\":[\"a%d\",\"b%d\"]}\n", state / 1000, state % 17, state % 23
		}
		print "]"
	}'
}

make_query() {
	cat <<-Q
		create table item (id integer primary key, name text, value real);
		with recursive c(x) as (values(1) union all select x + 1 from c where x < $1)
			insert into item select x, printf('name %d %s', x * 7919 % 100003, hex(x * 31)), x * 1.5 from c;
		create index item_name on item (name);
		select count(*), sum(length(upper(name) || substr(name, 3) || replace(name, '1', 'one'))) from item;
		select count(distinct substr(name, 1, 9)), max(length(v)) from (select name, group_concat(value) as v from item
			group by substr(name, 1, 8));
		select sum(length(a.name || b.name)) from item a join item b on b.id = a.id * 7919 % $1 + 1;
	Q
}

make_source "$(n 3 1)" >source.cc
make_json "$(n 150000 10000)" >rows.json
make_documents "$(n 4000 400)" >documents.json
make_query "$(n 250000 20000)" >query.sql
python=/usr/bin/python3
compiler=$(g++ -print-prog-name=cc1plus) && [ -x "$compiler" ] && g++ -std=c++17 -E source.cc -o source.ii || compiler=
export PYTHONMALLOC=malloc
cat >loads.py <<'P'
import json, sys
text = open("documents.json").read()
for i in range(int(sys.argv[1])):
    json.loads(text)
P

names=(loop g++ jq sqlite3 python3)
declare -A missing=() title=([loop]="malloc/free, 10 frames deep" [g++]="g++ (cc1plus), a large file" [jq]="jq, a large file"
	[sqlite3]="sqlite3" [python3]="python3, JSON by malloc")
# Limits for the sampled mode: the program's own time, and that time together with the recorder's.
declare -A own=([loop]=2.6 [g++]=1.20 [jq]=1.10 [sqlite3]=1.55 [python3]=1.18)
declare -A total=([loop]=4.5 [g++]=1.35 [jq]=1.35 [sqlite3]=1.9 [python3]=1.5)
[ -n "$compiler" ] || missing[g++]="g++ is not installed"
for tool in jq sqlite3 $python; do
	command -v "$tool" >/dev/null || missing[${tool##*/}]="$tool is not installed"
done

command_of() {
	case $1 in
	loop) command=("$programs/heap-loop" "$(n 30000000 3000000)") ;;
	g++) command=("$compiler" -quiet -fpreprocessed -std=c++17 "$(n -O1 -O0)" source.ii -o source.s) ;;
	jq) command=(jq -c '[.[] | {id, more, all: (.tags + [.name] | join("-"))}] | group_by(.all[0:2]) | map(length)' rows.json) ;;
	sqlite3) command=(sqlite3 :memory: ".read query.sql") ;;
	python3) command=("$python" loads.py "$(n 60 10)") ;;
	esac
}

# --- one round ------------------------------------------------------------------------------------------------------------

# under HOW NAME: runs the program alone, under a recorder or with something preloaded.
under() {
	local key=$2.$1 inner=("$programs/cost" "$work/cost.$2.$1.inner" "${command[@]}")
	case $1 in
	alone) cost "$key" "${command[@]}" ;;
	full) cost "$key" "$SONDE" record -q -f -F 1 --heap=full -o "$key.sonde" -- "${inner[@]}" ;;
	sampled) cost "$key" "$SONDE" record -q -f -F 1 --heap=light -o "$key.sonde" -- "${inner[@]}" ;;
	off) cost "$key" "$SONDE" record -q -f -F 1 -o "$key.sonde" -- "${inner[@]}" ;;
	count) cost "$key" env "LD_PRELOAD=$programs/heap-count.so" "${command[@]}" ;;
	heaptrack)
		rm -f "$key".zst "$key".gz # heaptrack 1.4 ends cc1plus by std::bad_alloc after some minutes
		cost "$key" timeout "$(n 90 30)" heaptrack -o "$work/$key" "${command[@]}" || rm -f "$work/cost.$key" "$key".zst "$key".gz
		;;
	gperftools) # ten microseconds and more an allocation: once, and of the loop a part
		[ "$2" != loop ] || command[1]=$((command[1] / part_of_loop))
		cost "$key" timeout "$(n 60 30)" env "LD_PRELOAD=$tcmalloc" "HEAPPROFILE=$work/$key.heap" "${command[@]}" ||
			rm -f "$work/cost.$key"
		command_of "$2"
		;;
	esac
}

recorders=(alone full off sampled count)
part_of_loop=30

events_of() {
	calc "2 * $(metric "$1" memory.heap_allocations)"
}

measure() {
	local name=$1 round i how events
	for ((round = 0; round < rounds; round++)); do
		say "$name, round $((round + 1)) of $rounds"
		for ((i = 0; i < ${#recorders[@]}; i++)); do
			under "${recorders[(i + round) % ${#recorders[@]}]}" "$name"
		done
		[ $round -gt 1 ] || [ -n "$no_heaptrack" ] || under heaptrack "$name"
		[ $round -gt 0 ] || [ -n "$no_gperftools" ] || under gperftools "$name"
		rm -rf "$XDG_CACHE_HOME.cold"
		XDG_CACHE_HOME=$XDG_CACHE_HOME.cold cost "$name.report" "$SONDE" report --section heap "$name.full.sonde"
		events=$(events_of "$name.full.sonde")
		keep "$name.events" "$events"
		keep "$name.bytes" "$(calc "$(stat -c %s "$name.full.sonde") / $events")"
		keep "$name.report" "$(calc "$(cost_of "$name.report" cpu | tail -n 1) * 1e9 / $events")"
		[ ! -e "$name.heaptrack.zst" ] && [ ! -e "$name.heaptrack.gz" ] ||
			keep "$name.heaptrack.bytes" "$(calc "$(cat "$name".heaptrack.{zst,gz} 2>/dev/null | wc -c) / $events")"
	done
	for how in "${recorders[@]:1}" heaptrack; do
		paired "$name.$how.total" "$name.$how" "$name.alone" cpu "a / b"
		[ -f "$work/cost.$name.$how.inner" ] && paired "$name.$how.own" "$name.$how.inner" "$name.alone" cpu "a / b"
	done
	paired "$name.gperftools.total" "$name.gperftools" "$name.alone" cpu "a / b$([ "$name" = loop ] && echo " * $part_of_loop")"
	paired "$name.beside" "$name.sampled" "$name.off" cpu "a / b"
	paired "$name.recorder" "$name.full" "$name.full.inner" cpu "(a - b) * 1e9 / $events"
	cost_of "$name.full" rss | awk '{ print $1 / 1e6 }' | keep "$name.rss"
}

# The anchors' figures: "heaptrack 13.1, gperftools 6.2, a counter 1.2".
beside() {
	local text="a counter $(text "$1.count.total")"
	[ -n "$no_gperftools" ] && text+=", $no_gperftools" || text+=", gperftools $(text "$1.gperftools.total")"
	[ -n "$no_heaptrack" ] && text="$no_heaptrack, $text" || text="heaptrack $(text "$1.heaptrack.total"), $text"
	echo "$text"
}

report() {
	local name=$1 heaptrack=${no_heaptrack:-heaptrack did not end in time}
	judge "${title[$name]}: CPU of the program itself, full" "$name.full.own" "times" "a counter $(text "$name.count.total")" "≤ ${own[$name]}" "<=" "${own[$name]}"
	judge "${title[$name]}: with the recorder's, full" "$name.full.total" "times" "$(beside "$name")" "≤ ${total[$name]}" "<=" "${total[$name]}"
	[ "$name" = loop ] ||
		judge "${title[$name]}: sampled, relative to no heap recording" "$name.beside" "times" "–" "≤ 1.01" "<=" 1.01 \
			"to the program alone: itself $(text "$name.sampled.own"), with the recorder $(text "$name.sampled.total")"
	if has "$name.heaptrack.bytes"; then
		judge "${title[$name]}: bytes an event in the file" "$name.bytes" B "heaptrack $(text "$name.heaptrack.bytes" B)" "≤ heaptrack's" "<=" \
			"$(median "$name.heaptrack.bytes")" "$(calc "$(median "$name.events") / 1e6") M events"
	else
		info "${title[$name]}: bytes an event in the file" "$name.bytes" B "$heaptrack"
	fi
	paired "$name.analysis" "$name.full" "$name.full.inner" cpu "(a - b) * 1e9 / $(median "$name.events") + $(median "$name.report")"
	judge "${title[$name]}: analysis of an event" "$name.analysis" ns "–" "≤ 80 ns" "<=" 80 \
		"recorder $(text "$name.recorder" ns), a cold report $(text "$name.report" ns)"
}

for name in "${names[@]}"; do
	if [ -n "${missing[$name]:-}" ]; then
		unavailable "${title[$name]}: CPU of the program itself, full" "heaptrack" "–" "${missing[$name]}"
		continue
	fi
	command_of "$name"
	measure "$name"
	report "$name"
done

# --- sampled --------------------------------------------------------------------------------------------------------------

# Short loops, many of them, since machines change their speed.
for ((i = 0; i < $(n 40 3); i++)); do
	alone=$("$programs/heap_pair" "$(n 5000000 500000)")
	sampled=$("$SONDE" record -q -f -F 1 --heap=light -o pair.sonde -- "$programs/heap_pair" "$(n 5000000 500000)")
	keep pair.alone "$alone"
	keep pair.sampled "$(calc "$sampled - $alone")"
done
judge "malloc/free, 10 frames deep: sampled, a pair" pair.sampled ns "alone $(text pair.alone ns)" "≤ 4 ns" "<=" 4

# --- memory does not grow with events -----------------------------------------------------------------------------------

# First a tenth of the events, then all of them, with 100,000 live blocks.
pairs=$(n 25000000 1000000)
for ((i = 0; i < $(n 3 1); i++)); do
	say "memory, round $((i + 1))"
	for part in 10 1; do
		cost "memory.$part" "$SONDE" record -q -f -F 1 --heap=full -o memory.sonde -- "$programs/heap-loop" $((pairs / part)) 100000
	done
done
paired memory memory.1 memory.10 rss "a / b"
judge "memory of recorder and program, ten times the events" memory "times" "–" "≤ 1.25" "<=" 1.25 \
	"$(calc "2 * $pairs / 1e6") M events, 100,000 live blocks, $(calc "$(cost_of memory.1 rss | tail -n 1) / 1e6") MB"
