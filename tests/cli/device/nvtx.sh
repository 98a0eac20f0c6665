# nvtx.sh: a program's NVTX annotations are recorded exactly: zones, spans, instant events, thread names. The program is
# built with NVIDIA's headers if they are installed, else with our own client. Recording changes nothing else.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
own=$(target nvtx_told)
object=$SONDE_BUILD/src/inject/libsonde-nvtx.so

# record FILE PROGRAM…: its output is in $out
record() {
	local file=$1
	shift
	run 0 "$SONDE" record -q -f --on-full block -o "$file" -- "$@"
}
# zones FILE: "NAME CALLS", by name
zones() {
	rows "$1" zones | jq -r '[.[] | "\(.zone) \(.calls)"] | sort | join(", ")'
}
# total FILE ZONE
total() {
	rows "$1" zones | jq -r --arg z "$2" '[.[] | select(.zone == $z).total_ns] | total'
}
# ask FILE SQL: the rows of the answer, as words
ask() {
	"$SONDE" query -q -f jsonl "$1" "$2" >.answer
	jq -r '[.[] | tostring] | join(" ")' .answer
}
# args FILE NAME: the arguments of zones with that name, in order, as text, so that numbers are not rounded
args() {
	"$SONDE" export -q --force -f chrome -o .trace "$1" 2>/dev/null
	grep -o "{\"ph\":\"X\",\"name\":\"$2\"[^}]*}" .trace | sed -E 's/.*"args":\{//; s/"self_ns":[0-9]+,?//; s/}//; s/"//g'
}
lost() {
	equal "$(metric "$1" lost.count)" 0
}

all_parts() { # PROGRAM
	local told=$1
	# names: in three forms, in a reused buffer, without a message
	record n.sonde "$told" names 3
	equal "$out" "names: 0 1 1 0"
	equal "$(zones n.sonde)" "(unnamed) 3, buffer a 3, buffer b 3, größe ∑ 𝄞 3, outer 3"
	holds "$(total n.sonde outer) >= $(total n.sonde 'buffer a') + $(total n.sonde 'buffer b')"
	# ranges nest
	equal "$("$SONDE" report -q --json --section zones --sort self n.sonde | jq '[.sections[0].rows[] | select(.zone == "outer") | .self_ns < .total_ns] | all')" true
	lost n.sonde

	# each domain has its own nesting, and its name precedes the zone's
	record d.sonde "$told" domains 5
	equal "$out" "domains: 0 0 1 0 0 1 0 0"
	equal "$(zones d.sonde)" "lib: call 5, lib: kept 5, of all 5, weít: again 1, weít: late 1, weít: wíde kept 5"
	lost d.sonde

	# values and categories
	record p.sonde "$told" payloads
	equal "$(zones p.sonde)" "(unnamed) 2, lib: typed 1, typed 7"
	equal "$(args p.sonde typed)" "category:io,payload:18446744073709551615
category:io,payload:-9007199254740993
category:io,payload:0.1
category:io,payload:4294967295
category:io,payload:-5
category:io,payload:0.5
category:9"
	equal "$(args p.sonde 'lib: typed')" "category:réseau"
	equal "$(args p.sonde '(unnamed)' | tr -d '\n')" ""
	equal "$(ask p.sonde "select name, text from messages order by time_ns" | sed 's/0.10000000000000001/0.1/')" "typed category: io, payload: 18446744073709551615
typed category: io, payload: -9007199254740993
typed category: io, payload: 0.1
typed category: io, payload: 4294967295
typed category: io, payload: -5
typed category: io, payload: 0.5"

	# spans, ended by another thread; marks
	record s.sonde "$told" spans 4
	equal "$out" "spans: 0"
	equal "$(ask s.sonde "select span, count(*), min(dur_ns) >= 2000000, sum(start_thread_id != end_thread_id) from spans group by span order by span")" \
		"across 4 1 4
lib: in lib 4 1 0
wíde 4 1 0"
	equal "$(ask s.sonde "select name, count(*) from messages group by name order by name")" "here 4
hiér 4
lib: domain's 4"
	has "$("$SONDE" export -q -f chrome -o - s.sonde)" '"payload":"18446744073709551615"'

	# more pops than pushes, and fewer
	record m.sonde "$told" mismatched
	equal "$out" "mismatched: -1 -1 0 0 -1"
	equal "$(zones m.sonde)" "matched 1, never popped 1"
	equal "$(rows m.sonde counters | jq -r '.[] | select(.name == "NVTX pops without a push").value')" 3

	# domains whose ranges do not nest: calls and times are right, and a range that outlives its parent goes on as "(continued)"
	record i.sonde "$told" interleaved 3
	equal "$out" "interleaved: 0"
	equal "$(zones i.sonde)" "first 3, lib: second (continued) 3, lib: second 3, third (continued) 3, third 3"
	holds "$(total i.sonde first) >= 3 * 5000000"
	holds "$(total i.sonde first) - $(total i.sonde 'lib: second') >= 3 * 2000000"
	holds "$(total i.sonde 'lib: second') >= 3 * 3000000"
	holds "$(total i.sonde 'lib: second (continued)') >= 3 * 4000000"
	holds "$(total i.sonde 'third (continued)') >= 3 * 5000000"
	lost i.sonde

	# more names than the table holds; numbers that PyTorch appends
	run 0 "$SONDE" record -q -f --on-full block -o y.sonde -- "$told" many 20000 # faster than the rings are read
	equal "$(rows y.sonde zones | jq '[[.[] | select(.zone | startswith("step ")).calls] | add, length < 5000]' -c)" "[20000,true]"
	equal "$(rows y.sonde zones | jq '[.[] | select(.zone | startswith("aten::mm")) | .calls]' -c)" "[20000]"
	holds "$(rows y.sonde zones | jq '[.[] | select(.zone == "step # of #").calls] | add') > 10000"
	"$SONDE" export -q --force -f chrome -o y.json y.sonde 2>/dev/null
	for name in "step 3 of 20000" "step 19999 of 20000" "aten::mm, seq = 19999, op_id = 39998"; do
		equal "$(grep -c "\"name\":\"$name\"" y.json)" 1
	done
	lost y.sonde

	# 8 threads at once
	record t.sonde "$told" threads 5000
	equal "$(rows t.sonde zones | jq '[.[].calls] | add')" 80000
	equal "$(rows t.sonde zones | jq -c '[[.[] | select(.zone == "shared")], [.[] | select(.zone | startswith("n"))] | [.[].calls] | [length, add]]')" "[[1,40000],[100,40000]]"
	lost t.sonde

	# thread names: the caller's, and of a thread that annotates later
	record w.sonde "$told" thread-names
	names=$(rows w.sonde threads | jq -r '[.[].thread] | sort | join(", ")')
	equal "$names" "the dríver, the worker"

	# a forked child keeps its nesting levels, and does not end its parent's ranges
	record f.sonde "$told" forks
	equal "$out" "child: 1 1 0
forks: 0"
	equal "$(zones f.sonde)" "child 1, parent 1"

	# too deep: counted, and the rest is right
	record x.sonde "$told" deep 1500
	equal "$out" "deep: 1024 1024"
	equal "$(zones x.sonde)" "deep 1024"
	equal "$(rows x.sonde counters | jq -r '.[] | select(.name == "NVTX ranges that were too deep").value')" 476

	# in signal handlers, which interrupt ranges
	record h.sonde "$told" handlers 20000
	equal "$out" "handlers: 0"
	holds "$(rows h.sonde zones | jq '[.[] | select(.zone == "handler").calls] | add') >= 1"
}
all_parts "$own"
real=$SONDE_BUILD/tests/targets/nvtx_told_real
if [ -x "$real" ]; then
	all_parts "$real"
else
	real=
fi

# Without a recorder nothing is recorded and nothing changes; a program can also record itself.
run 0 env NVTX_INJECTION64_PATH="$object" "$own" names 2
equal "$out" "names: 0 1 1 0"
equal "$err" ""
run 0 env NVTX_INJECTION64_PATH="$object" SONDE_OUT=self.sonde "$own" names 2
self=(self.*.sonde)
has "$(zones "${self[0]}")" "outer 2"
# The same if the recorder dies in between.
"$SONDE" record -q -o dead.sonde -- "$own" lasts 2000 >said 2>&1 &
recorder=$!
wait_for pgrep -P $recorder -x nvtx_told >/dev/null
program=$(pgrep -P $recorder -x nvtx_told)
sleep 0.3
kill -KILL $recorder
wait $recorder 2>/dev/null || true
wait_for eval "! kill -0 $program"
equal "$(cat said)" "done"

# A variable that is set already is kept, with a note; in nested sonde record, sonde's own value does not count as another tool's.
run 0 env NVTX_INJECTION64_PATH=/nowhere/other.so "$SONDE" record -q -o other.sonde -- sh -c 'echo $NVTX_INJECTION64_PATH'
equal "$out" /nowhere/other.so
run 0 "$SONDE" report other.sonde
has "$(tr -s ' \n' ' ' <<<"$out")" "nvtx: not recorded: NVTX annotations went to another tool"
run 0 "$SONDE" record -q -o inner.sonde -- "$SONDE" record -q -o both.sonde -- "$own" names 1
equal "$(zones both.sonde)" "(unnamed) 1, buffer a 1, buffer b 1, größe ∑ 𝄞 1, outer 1"
run 0 "$SONDE" report both.sonde
lacks "$out" "another tool"
# A program without NVTX sees the variable and loads nothing.
run 0 "$SONDE" record -q -o none.sonde -- sh -c 'echo $NVTX_INJECTION64_PATH; grep -c libsonde-nvtx /proc/self/maps || true'
equal "$out" "$object
0"
run 0 "$SONDE" record -q --no-inject -f -o none.sonde -- sh -c 'echo "${NVTX_INJECTION64_PATH-unset}"'
equal "$out" unset

# As an ordinary user.
if as_user test -r "$object" -a -x "$own" 2>/dev/null; then
	run 0 as_user "$SONDE" record -q -o user.sonde -- "$own" names 2
	has "$(zones user.sonde)" "outer 2"
fi

# In Python, through the library that it loads.
python=/usr/bin/python3
if [ -x $python ]; then
	cat >told.py <<-'PYTHON'
		import ctypes, sys, threading
		nvtx = ctypes.CDLL(sys.argv[1])
		def work(n):
		    for i in range(100):
		        nvtx.nvtxRangePushA(b"python outer")
		        nvtx.nvtxRangePushW(ctypes.c_wchar_p("pythön %d" % (i % 2)))
		        nvtx.nvtxRangePop()
		        nvtx.nvtxRangePop()
		threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
		[t.start() for t in threads]
		[t.join() for t in threads]
		nvtx.nvtxMarkA("zu Ende".encode())
		print("done")
	PYTHON
	record python.sonde $python told.py "$(target nvtx_client.so)"
	equal "$out" "done"
	equal "$(zones python.sonde)" "python outer 400, pythön 0 200, pythön 1 200"
	equal "$(ask python.sonde "select name from messages")" "zu Ende"
fi
