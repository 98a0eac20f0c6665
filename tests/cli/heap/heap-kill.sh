# heap-kill.sh: programs that allocate are killed at random times, and so is the recorder: no published event is lost,
# and every recording opens.
# timeout: 300
. "$(dirname "$0")/../lib.sh"
need jq python3
blocks=$(target blocks)
: "${ROUNDS:=$([ -n "${SONDE_LONG:-}" ] && echo 1000 || echo 40)}"

cat >killed.py <<'P'
import json, mmap, os, random, signal, struct, subprocess, sys, time
sonde, target, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
random.seed(11)

def counted(counts):
    """What both threads had done: allocated, freed."""
    rows = [struct.unpack_from("QQ", counts, 64 * thread) for thread in range(2)]
    return [sum(column) for column in zip(*rows)]

def recorded():
    report = json.loads(subprocess.run([sonde, "report", "--json", "--section", "heap,summary", "k.sonde"],
                                       check=True, capture_output=True).stdout)
    rows = {section["id"]: section["rows"] for section in report["sections"]}
    lost = [row["value"] for row in rows["summary"] if row["metric"] == "lost.count"]
    mine = [row for row in rows.get("heap", []) if row["function"] == "killed"]
    begun = sum(row["allocations"] for row in mine)
    return begun, begun - sum(row["left_blocks"] for row in mine), lost[0] if lost else 0

for round in range(rounds):
    fd = os.memfd_create("counts", 0)
    os.ftruncate(fd, 4096)
    counts = mmap.mmap(fd, 4096)
    recorder = subprocess.Popen([sonde, "record", "-q", "-F", "1", "--heap=full", "--force", "-o", "k.sonde", "--",
                                 target, "killed", str(fd)], pass_fds=[fd])
    both, early = round % 4 == 3, round % 8 == 5
    children = []
    while recorder.poll() is None and not (children if early else counted(counts)[1]):
        time.sleep(0.0005)
        children = open(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read().split()
    # before the second chunk, and after it
    time.sleep(random.random() ** 3 * (0.02 if early else 0.6 if round % 4 == 0 else 0.1))
    children = children or open(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read().split()
    if both: # the recorder is killed first: what it has written is there
        recorder.kill()
        time.sleep(random.random() * 0.005)
    for child in children:
        os.kill(int(child), signal.SIGKILL)
    if recorder.wait() == 125 and early and counted(counts) == [0, 0]:
        continue # what was killed was not yet the program
    if recorder.wait() != -signal.SIGKILL:
        sys.exit(f"round {round}: ended with {recorder.returncode}")
    if both:
        time.sleep(0.01) # orphans are reaped by another process
    begun, ended = counted(counts)
    there_begun, there_ended, lost = recorded()
    if both:
        if there_begun > begun + 2 or there_ended > there_begun:
            sys.exit(f"round {round}: {begun} allocations, {there_begun} recorded, {there_ended} ends")
    elif lost or not (begun <= there_begun <= begun + 2 and ended <= there_ended <= ended + 2):
        sys.exit(f"round {round}: {begun} allocations and {ended} frees, recorded {there_begun} and {there_ended}; {lost} lost")
    counts.close()
    os.close(fd)
P
python3 killed.py "$SONDE" "$blocks" "$ROUNDS" || fail "allocations of killed programs"
