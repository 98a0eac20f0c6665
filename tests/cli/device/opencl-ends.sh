# opencl-ends.sh: OpenCL programs that crash, fork, fail, use threads or lose their recorder run as without sonde.
# measures: times of kernels and copies
# timeout: 180
. "$(dirname "$0")/../lib.sh"
need jq pgrep
known=$(target opencl_known)
queues=$(target opencl_queues)
layer=$SONDE_BUILD/src/inject/libsonde-opencl.so
[ -e "$layer" ] || skip "libsonde-opencl.so is not built (package opencl-c-headers)"
"$known" >expected 2>/dev/null || { [ $? -ne 77 ] || skip "no OpenCL device (package pocl-opencl-icd)"; fail "it fails without us"; }

# same CODE SCALES MODE: output and exit code as without sonde; the number of kernels "scale", and all others
same() {
	local code=0 expected
	expected=$("$known" "$3" 2>/dev/null) || code=$?
	equal $code "$1"
	run "$1" "$SONDE" record --gpu -q -o "$3.sonde" -- "$known" "$3"
	equal "$out" "$expected"
	equal "$(rows "$3.sonde" kernels | jq -c 'map([.kernel, .calls]) | sort')" "[[\"scale\",$2],[\"sums\",10],[\"tiny\",7]]"
}
same 5 50 exit
same 5 50 leave
same 0 50 fork
same 0 250 threads
equal "$("$SONDE" query -f csv threads.sonde "select count(distinct thread_id), count(distinct queue_id) from activities
	where operation = 'scale'" | tail -n 1 | tr -d '\r')" 5,5
# many threads on one queue, and events that the program releases at once: none is lost, none recorded twice
run 0 "$SONDE" record --gpu -q -o crowd.sonde -- "$queues" crowd
equal "$("$SONDE" query -f csv crowd.sonde "select queue_id, count(*), count(distinct correlation), count(distinct thread_id)
	from activities where operation = 'spin' group by 1" | tail -n +2 | tr -d '\r')" $'1,4000,4000,4\n2,4000,4000,4'
equal "$("$SONDE" query -f csv crowd.sonde "select count(*) from lost where source = 'gpu'" | tail -n 1 | tr -d '\r')" 0
same 0 50 fail
run 0 "$SONDE" report fail.sonde
has "$out" "1 lost: OpenCL: the command failed"
run 0 "$SONDE" record --gpu -q -o abandon.sonde -- "$queues" abandon
equal "$(rows abandon.sonde kernels | jq -c 'map([.kernel, .calls])')" '[["spin",1]]'
run 0 "$SONDE" report abandon.sonde
has "$out" "1 lost: OpenCL: not finished at exit"
# commands whose end was never reported: they have what is known of them
for how in 'left 6' 'killed 137'; do
	mode=${how% *}
	run "${how#* }" "$SONDE" record --gpu -q -o "of-$mode.sonde" -- "$queues" "$mode"
	equal "$(rows "of-$mode.sonde" kernels | jq -c 'map([.kernel, .calls])')" '[["spin",1]]'
	run 0 env COLUMNS=200 "$SONDE" report "of-$mode.sonde"
	has "$out" "1 lost: OpenCL: requested, but the recording of the process ended"
done

# programs that load OpenCL themselves and release contexts while commands run: sonde neither keeps those alive nor
# calls released objects; queues beyond the recorded number work as before
loaded=$(target opencl_loaded)
for mode in closed context queues late; do
	expected=$("$loaded" $mode) && code=0 || code=$?
	[ $code -ne 77 ] || continue # this function is new in OpenCL 3.0
	run $code "$SONDE" record --gpu -q -o loaded.sonde -f -- "$loaded" $mode
	equal "$out" "$expected"
	if [ $mode = queues ]; then
		equal "$(rows loaded.sonde kernels | jq -c 'map(.calls)')" '[1024]'
		equal "$("$SONDE" query -f csv loaded.sonde "select sum(events), count(distinct cause) from lost where source = 'gpu'" | tail -n 1 |
			tr -d '\r')" 76,1
	elif [ $mode != context ]; then # each is recorded or lost, and none is both
		equal "$(($(rows loaded.sonde kernels | jq 'map(.calls) | total') + $("$SONDE" query -f csv loaded.sonde \
			"select coalesce(sum(events), 0) from lost where source = 'gpu'" 2>/dev/null | tail -n 1 | tr -d '\r')))" 5
	fi
done

# as an ordinary user
export POCL_CACHE_DIR=$work/user-cache
run 0 as_user "$SONDE" record --gpu -q -o user.sonde -- "$known"
equal "$out" "$(cat expected)"
equal "$(rows user.sonde kernels | jq 'map(.calls) | add')" 67
unset POCL_CACHE_DIR

# without a recorder, and with one that never existed
run 0 env OPENCL_LAYERS="$layer" "$known"
equal "$out" "$(cat expected)"
run 0 env OPENCL_LAYERS="$layer" SONDE_GPU=api SONDE_SOCKET=nobody "$known"
equal "$out" "$(cat expected)"
run 0 env OPENCL_LAYERS="$layer" SONDE_GPU=api SONDE_OUT=own.sonde "$known"
equal "$out" "$(cat expected)"

# the recorder dies: the program goes on to its end
"$SONDE" record --gpu -q -o dies.sonde -- "$queues" many 300000 >many.out 2>many.err &
recorder=$!
wait_for pgrep -P $recorder opencl_queues
wait_for test -s dies.sonde
sleep 0.3
kill -9 $recorder
wait $recorder || true
ended() { [ "$(wc -l <many.out)" = 2 ]; }
wait_for ended
equal "$(cat many.err)" ""

# the program is killed: work before that is recorded
"$SONDE" record --gpu -q -o killed.sonde -- "$queues" many 100000000 >/dev/null 2>&1 &
recorder=$!
wait_for pgrep -P $recorder opencl_queues
sleep 1
kill -9 "$(pgrep -P $recorder opencl_queues)"
wait $recorder || equal $? 137
holds "$(rows killed.sonde kernels | jq '.[0].calls') > 500"
