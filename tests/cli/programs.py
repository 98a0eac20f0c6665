"""programs.py: runs the programs of programs.list without sonde and under each kind of recording, and compares what they
write on standard output and error, their exit codes, the files that they leave and the processes that live on.

Each program is run twice without sonde. Where those two differ, numbers and addresses are taken out of both; where they
still differ, the row is wrong: nothing would be compared. A recorded run that takes more than 30 times as long as the slower of the
two, and more than a minute, hangs.

Usage: programs.py LIST WORK_DIRECTORY [--fast] [--jobs N] [--name PATTERN]… [--kind NAME]…
Prints a line for each program; exit code 1 when one has changed or hung.
"""
import argparse
import collections
import concurrent.futures
import ctypes
import fnmatch
import hashlib
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time

ALL = "--heap=full --threads --io --blas --gpu --memory"
KINDS = {
    "plain": "",
    "no-perf": "--no-perf",
    "heap-full": "--heap=full",
    "heap-light": "--heap=light",
    "threads": "--threads",
    "io": "--io",
    "blas": "--blas",
    "gpu": "--gpu",
    "all": ALL,
    "all-no-perf": "--no-perf " + ALL,
}
LEAST_LIMIT_S = 60
TIMES = 30


class Row:
    def __init__(self, head, body):
        fields = [field.strip() for field in head[1:].split("|")]
        words = fields[0].split()
        self.name, self.is_fast = words[0], "fast" in words[1:]
        self.is_root = "root" in words[1:]
        self.needs = fields[1].split()
        self.script = body


def read_list(path):
    rows, head, body = [], None, []
    for line in open(path, encoding="utf-8"):
        if line.startswith("#"):
            continue
        if line.startswith("= "):
            if head:
                rows.append(Row(head, "".join(body)))
            head, body = line, []
        else:
            body.append(line)
    rows.append(Row(head, "".join(body)))
    names = [row.name for row in rows]
    assert len(set(names)) == len(names), "a name stands twice in the list"
    return rows


def missing(row):
    """What the row needs and is not here: commands, absolute paths, programs among the targets (%NAME); or None."""
    if row.is_root and os.getuid():
        return "root"
    for need in row.needs:
        if need.startswith("/"):
            found = os.path.exists(need)
        elif need.startswith("%"):
            found = os.path.exists(os.path.join(os.environ["TARGETS"], need[1:]))
        elif need == "userns":
            found = subprocess.run(["unshare", "-Ur", "true"], stderr=subprocess.DEVNULL).returncode == 0
        elif need == "gcc-m32":
            found = subprocess.run(["gcc", "-m32", "-xc", "-", "-o", "/dev/null"], input=b"int main(void){return 0;}",
                                   stderr=subprocess.DEVNULL).returncode == 0
        else:
            found = shutil.which(need)
        if not found:
            return need.lstrip("%")
    return None


def processes_in(session):
    """The processes of a run that are alive, by the mark in their environment."""
    found = []
    for pid in os.listdir("/proc"):
        if not pid.isdigit():
            continue
        try:
            environment = open(f"/proc/{pid}/environ", "rb").read()
            state = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if state[0] not in "ZX" and f"PROGRAMS_RUN={session}\0".encode() in environment:
            found.append(int(pid))
    return found


def tree(directory):
    """What lies in a directory: path → (kind and mode, hash of the contents)."""
    found = {}
    for at, folders, files in os.walk(directory):
        for name in sorted(folders + files):
            path = os.path.join(at, name)
            status = os.lstat(path)
            content = ""
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                content = hashlib.sha1(open(path, "rb").read()).hexdigest()
            found[os.path.relpath(path, directory)] = (oct(status.st_mode), content)
    return found


class Run:
    """One run: code, out, err, files, seconds; is_hung."""

    serial = 0
    lock = threading.Lock()

    def __init__(self, row, work, options=None, limit_s=200):
        with Run.lock:
            Run.serial += 1
            self.session = f"{os.getpid()}.{Run.serial}"
        place = os.path.join(work, row.name)  # the same for all runs, since programs print it
        shutil.rmtree(place, ignore_errors=True)
        for folder in ("here", "tmp", "home"):
            os.makedirs(os.path.join(place, folder))
        os.chmod(place, 0o755)
        recording = os.path.join(work, row.name + ".sonde")
        self.recording = recording
        command = ["bash", "-c", row.script]
        if options is not None:
            command = [os.environ["SONDE"], "record", "-q", "--force", "-o", recording, *options.split(), "--", *command]
        environment = dict(os.environ, PROGRAMS_RUN=self.session, HOME=os.path.join(place, "home"),
                           TMPDIR=os.path.join(place, "tmp"), LC_ALL="C.UTF-8", TZ="UTC", TERM="dumb")
        environment.pop("SONDE", None)
        begin = time.monotonic()
        with open(os.path.join(place, "out"), "wb+") as out, open(os.path.join(place, "err"), "wb+") as err:
            child = subprocess.Popen(command, cwd=os.path.join(place, "here"), env=environment, stdin=subprocess.DEVNULL,
                                     stdout=out, stderr=err, start_new_session=True)
            self.is_hung = False
            try:
                self.code = child.wait(limit_s)
            except subprocess.TimeoutExpired:
                self.is_hung = True
                self.shown = self.show()
            self.seconds = time.monotonic() - begin
            for _ in range(40):  # trackers and agents leave a little after who started them
                self.left = len(processes_in(self.session))
                if not self.left or self.is_hung:
                    break
                time.sleep(0.05)
            for pid in processes_in(self.session):
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            if self.is_hung:
                child.kill()
                self.code = child.wait()
            out.seek(0), err.seek(0)
            self.out, self.err = out.read(), err.read()
        self.files = tree(os.path.join(place, "here"))
        shutil.rmtree(place, ignore_errors=True)

    def show(self):
        """What the processes of a run that hangs are at."""
        lines = []
        for pid in processes_in(self.session):
            try:
                command = open(f"/proc/{pid}/cmdline").read().replace("\0", " ")[:100]
                state = open(f"/proc/{pid}/wchan").read()
                lines.append(f"    {pid} {state} {command}")
            except OSError:
                pass
        return "\n".join(lines)


NUMBERS = re.compile(rb"0x[0-9a-fA-F]+|[0-9a-f]{8,}|[0-9]+")
PADDED = re.compile(rb"(?<=: line )([0-9]+): +(?=[0-9]+ [A-Z])")  # bash pads the ids of killed processes to five columns


def without_numbers(text):
    return NUMBERS.sub(b"N", PADDED.sub(rb"\1: ", text))


def other_names(run, ways):
    """How often each name without its numbers occurs among the files that are not in both runs without sonde."""
    return collections.Counter(without_numbers(os.fsencode(path)) for path in run.files if path not in ways["names"])


def sameness(one, two):
    """How two runs without sonde are compared with others: a function for each stream, the names of files that are in both, and
    those of them with the same content; or why they cannot be compared."""
    ways = {}
    for stream in ("out", "err"):
        first, second = getattr(one, stream), getattr(two, stream)
        if first == second:
            ways[stream] = bytes
        elif without_numbers(first) == without_numbers(second):
            ways[stream] = without_numbers
        else:
            return None, f"std{stream} differs without sonde: {first[-300:]!r} {second[-300:]!r}"
    if one.code != two.code:
        return None, f"exit codes {one.code} and {two.code} without sonde"
    if one.is_hung or two.is_hung:
        return None, f"still running without sonde: {one.show()}"
    if one.code == 127:
        return None, f"exit code 127 without sonde: {one.err[-300:]!r}"
    if one.left != two.left:
        return None, f"{one.left} and {two.left} processes live on without sonde"
    ways["names"] = set(one.files) & set(two.files)
    if other_names(one, ways) != other_names(two, ways):
        return None, f"files differ without sonde: {sorted(set(one.files) ^ set(two.files))[:5]}"
    ways["files"] = {path for path in ways["names"] if two.files[path] == one.files[path]}
    return ways, None


def difference(one, other, ways):
    """What a recorded run did differently; None."""
    if other.is_hung:
        return f"still running after {other.seconds:.0f} s\n{other.shown}"
    if other.code != one.code:
        return f"exit code {other.code} instead of {one.code}; standard error ends with {other.err[-500:]!r}"
    for stream in ("out", "err"):
        expected, got = (ways[stream](getattr(run, stream)) for run in (one, other))
        if expected != got:
            at = next((i for i, (a, b) in enumerate(zip(expected, got)) if a != b), min(len(expected), len(got)))
            begin = max(0, at - 40)
            return f"std{stream} at byte {at}: {got[begin:begin + 300]!r} instead of {expected[begin:begin + 300]!r}"
    if other.left != one.left:
        return f"{other.left} processes live on instead of {one.left}"
    gone = ways["names"] - set(other.files)
    if gone:
        return f"files are missing: {sorted(gone)[:5]}"
    if other_names(one, ways) != other_names(other, ways):
        extra, gone = sorted(set(other.files) - set(one.files)), sorted(set(one.files) - set(other.files))
        return f"files differ: {extra[:5]} instead of {gone[:5]}"
    for path in ways["files"]:
        if other.files[path] != one.files[path]:
            return f"file {path}: {other.files[path]} instead of {one.files[path]}"
    return None


def check(row, work, kinds, shows):
    """(verdict, lines to print)"""
    lacks = missing(row)
    if lacks:
        return "skip", [f"skip {row.name}: no {lacks}"]
    one = Run(row, work)
    two = Run(row, work)
    ways, why = sameness(one, two)
    if not ways:
        return "fail", [f"FAIL {row.name}: {why}"]
    alone_s = max(one.seconds, two.seconds)
    verdict, lines, times = "ok", [], []
    for kind in kinds:
        run = Run(row, work, KINDS[kind], max(LEAST_LIMIT_S, TIMES * alone_s))
        what = difference(one, run, ways)
        if not what and not os.path.exists(run.recording):
            what = "no recording"
        if not what:
            report = subprocess.run([os.environ["SONDE"], "report", "-q", run.recording], capture_output=True)
            if report.returncode:
                what = f"the recording cannot be read: {report.stderr[-200:]!r}"
        if what:
            verdict = "fail"
            lines.append(f"FAIL {row.name}, {kind}: {what}")
        times.append(f"{kind} {run.seconds:.2f}")
        if os.path.exists(run.recording):
            os.unlink(run.recording)
    if shows:
        lines += [one.out[-400:].decode(errors="replace"), one.err[-400:].decode(errors="replace")]
    return verdict, [f"{verdict} {row.name}: code {one.code}, {len(one.out)} + {len(one.err)} B, {alone_s:.2f} s; {', '.join(times)}"] + lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("list")
    parser.add_argument("work")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--name", action="append")
    parser.add_argument("--kind", action="append")
    parser.add_argument("--show", action="store_true", help="also what each program writes without sonde")
    options = parser.parse_args()
    # Daemons become our children, and are ended with their row.
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    rows = read_list(options.list)
    if options.name:
        rows = [row for row in rows if any(fnmatch.fnmatch(row.name, name) for name in options.name)]
    if options.fast:
        rows = [row for row in rows if row.is_fast]
    counts = {"ok": 0, "fail": 0, "skip": 0}
    several = list(KINDS)

    def one(numbered):
        number, row = numbered
        kinds = options.kind or several
        if options.fast:  # all together, and one that changes from row to row
            kinds = ["all", [kind for kind in several if kind != "all"][number % (len(several) - 1)]]
        return check(row, options.work, kinds, options.show)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for verdict, lines in pool.map(one, enumerate(rows)):
            counts[verdict] += 1
            print("\n".join(lines), flush=True)
    print(f"{counts['ok']} unchanged, {counts['fail']} changed, {counts['skip']} not here")
    return 1 if counts["fail"] else 0


if __name__ == "__main__":
    sys.exit(main())
