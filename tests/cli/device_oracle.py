#!/usr/bin/env python3
"""device_oracle.py: figures of the sections of devices, found again by brute force from times that are known.

Usage: device_oracle.py SONDE TARGET SEED…

For each seed it makes up what devices and the host did: queues that overlap, times that are equal, take no time or are
not known, copies of all kinds and between devices, blocks at used addresses. TARGET (device_script) tells it while SONDE
records, and each row of each section, of the run, of parts of it and of a thread, has to be what is found here: without
a look at the recording, by going through all pairs of beginnings and ends. Rows of SQL have to be what was told. It
prints how many rows were compared.
"""
import itertools
import json
import math
import random
import subprocess
import sys

KERNEL, COPY, FILL, MAP, MARKER, API, SYNC, BUILD, ALLOC, FREE, OVERHEAD = 1, 2, 3, 4, 6, 16, 17, 18, 19, 20, 21
KINDS = {KERNEL: "kernel", COPY: "copy", FILL: "fill", MAP: "map", MARKER: "marker", API: "api", SYNC: "sync",
         BUILD: "build", ALLOC: "alloc", FREE: "free", OVERHEAD: "overhead"}
WORK = (KERNEL, COPY, FILL, MAP)
MEMORY = ["not known", "pageable", "pinned", "device", "array", "managed", "peer", "host"]
OF_HOST, OF_DEVICE, PEER = (1, 2, 7), (3, 4), 6
RUN_MS, RUN_NS = 40, 40_000_000


def made_up(seed):
    """What happens: devices, queues, operations and activities, numbered from 1 in each other."""
    r = random.Random(seed)
    devices = r.randint(1, 3)
    queues = [{"device": r.randint(1, devices), "flags": r.randint(0, 1), "handle": 10 * i} for i in range(r.randint(1, 5))]
    operations, edges, activities = [], [0], []

    def operation(kind, name, memory=(0, 0), of=(0, 0), grid=0, block=0):
        operations.append({"kind": kind, "name": name, "from": memory[0], "to": memory[1], "of": of, "grid": grid, "block": block})
        return len(operations)

    def any_memory():
        return operation(COPY, "copy", (r.randrange(8), r.randrange(8)), (r.randint(0, devices), r.randint(0, devices)))

    kernels = [operation(KERNEL, f"k{r.randrange(3)}", grid=r.choice([1, 64]), block=r.choice([32, 256])) for _ in range(5)]
    work = 2 * kernels + [any_memory() for _ in range(8)] + [operation(k, KINDS[k]) for k in (FILL, MAP, MARKER)]
    calls = [operation(k, f"call{r.randrange(2)}") for k in (API, API, SYNC, BUILD, OVERHEAD)]
    blocks = [operation(ALLOC, f"alloc{i}", (0, r.choice([0, 1, 2, 3, 3, 4, 5])), (0, r.randint(0, devices))) for i in range(3)]
    free = operation(FREE, "free")

    def activity(operation, longest_ns, queue, **more):
        start = r.choice(edges) if r.random() < 0.3 else r.randrange(RUN_NS)
        end = min(start + r.choice([0, 1, r.randrange(longest_ns), r.randrange(longest_ns // 50)]), RUN_NS)
        edges.extend((start, end))
        activities.append({"operation": operation, "queue": queue, "known": int(r.random() < 0.8), "queued": -1, "start": start,
                           "end": end, "correlation": r.randrange(9), "size": 0, "address": 0, **more})

    for _ in range(r.choice([4, 40, 150])):
        activity(r.choice(work), RUN_NS // 5, r.randint(1, len(queues)), size=r.choice([0, 1, 4096, r.randrange(10**7)]))
        activities[-1]["queued"] = r.choice([-1, max(activities[-1]["start"] - r.randrange(RUN_NS // 3), 0)])
        activity(r.choice(calls), RUN_NS // 9, r.randint(0, len(queues)))
        if r.random() < 0.6:
            activity(r.choice(blocks + 2 * [free]), RUN_NS // 99, 0, size=r.choice([0, 500, r.randrange(10**7)]),
                     address=4096 * r.randrange(6))
    return {"devices": devices, "queues": queues, "operations": operations, "activities": activities}


def script_of(made):
    lines = [f"{RUN_MS}"] + [f"D dev{i} uuid{i} 1 {i}" for i in range(made["devices"])]
    lines += [f"Q {q['device']} {q['flags']} {q['handle']}" for q in made["queues"]]
    lines += [f"O {o['kind']} {o['name']} {o['from']} {o['to']} {o['of'][0]} {o['of'][1]} {o['grid']} {o['block']}"
              for o in made["operations"]]
    keys = ("operation", "queue", "known", "queued", "start", "end", "correlation", "size", "address")
    return "\n".join(lines + ["A " + " ".join(str(a[key]) for key in keys) for a in made["activities"]]) + "\n"


def time_of(spans, holds):
    """The time in which holds(words) of the spans (from, to, word) that cover it."""
    edges = sorted({at for span in spans for at in span[:2]})
    return sum(b - a for a, b in itertools.pairwise(edges) if holds({word for f, t, word in spans if f <= a and b <= t}))


def joined(spans):
    """Spans that touch are one."""
    out = []
    for f, t in sorted(spans):
        if out and f <= out[-1][1]:
            out[-1][1] = max(out[-1][1], t)
        else:
            out.append([f, t])
    return out


def gaps_of(spans):
    return [(a[1], b[0]) for a, b in itertools.pairwise(joined(spans))]


def part(a, b):
    return a / b if b else None


def mean(values):
    return sum(values) // len(values) if values else None


class Model:
    """What the sections have to say of a window, and of a thread or (None) all; times are the recording's."""

    def __init__(self, made, offset_ns, window, thread=None):
        self.window, self.queues, self.devices = window, made["queues"], made["devices"]
        self.all = []
        for told in made["activities"]:
            a = {**told, **{f"of_{key}": value for key, value in made["operations"][told["operation"] - 1].items()}}
            a["start"], a["end"] = a["start"] + offset_ns, a["end"] + offset_ns
            a["queued"] = a["queued"] + offset_ns if a["queued"] >= 0 else None
            a["device"] = self.queues[a["queue"] - 1]["device"] if a["queue"] else None
            self.all.append(a)
        self.chosen = [a for a in self.all if thread is None or a["known"]]
        for a in self.all:
            a["from"], a["to"] = max(a["start"], window[0]), min(a["end"], window[1])
            a["whole"] = (a["from"], a["to"]) == (a["start"], a["end"])
        self.within = [a for a in self.chosen if a["from"] < a["to"] or (a["from"] == a["to"] and a["start"] == a["end"])]
        self.work = [a for a in self.within if a["of_kind"] in WORK]

    def name(self, device):
        return f"Own dev{device - 1} {device - 1}" if device else None

    def share(self, ns):
        return part(ns, self.window[1] - self.window[0])

    def by(self, rows, key):
        groups = {}
        for row in rows:
            groups.setdefault(key(row), []).append(row)
        return groups.items()

    @staticmethod
    def ns(rows):
        return sum(a["to"] - a["from"] for a in rows)

    @staticmethod
    def spans(rows, word=None):
        return [(a["from"], a["to"], word) if word else (a["from"], a["to"]) for a in rows]

    def sums(self, rows):
        return {"total_ns": self.ns(rows), "calls": len(rows),
                "mean_ns": mean([a["end"] - a["start"] for a in rows if a["whole"]])}

    def delay(self, rows):
        return mean([a["start"] - a["queued"] for a in rows if a["queued"] is not None])

    def of_devices(self):
        for device in range(1, self.devices + 1):
            rows = [a for a in self.work if a["device"] == device]
            kernels, copies = ([a for a in rows if a["of_kind"] == kind] for kind in (KERNEL, COPY))
            moves = [a for a in copies if (a["of_from"] in OF_HOST) != (a["of_to"] in OF_HOST)]
            busy = time_of(self.spans(rows, "x"), bool)
            own = [b for b in self.blocks() if b["device"] == device and b["kind"] not in OF_HOST]
            yield {"device": self.name(device), "busy_share": self.share(busy), "busy_ns": busy, "kernel_ns": self.ns(kernels),
                   "copy_ns": self.ns(copies), "copied_b": sum(a["size"] for a in copies),
                   "concurrency": part(self.ns(rows), busy), "gaps": len(gaps_of(self.spans(rows))),
                   "idle_ns": sum(t - f for f, t in gaps_of(self.spans(rows))),
                   "copy_alone_ns": time_of(self.spans(kernels, "k") + self.spans(moves, "c"), lambda on: on == {"c"}),
                   "peak_b": self.peak(own)[0] if own else None, "queues": sum(q["device"] == device for q in self.queues)}

    def of_kernels(self):
        kernels = [a for a in self.work if a["of_kind"] == KERNEL]
        for (device, name), rows in self.by(kernels, lambda a: (a["device"], a["of_name"])):
            took = [a["end"] - a["start"] for a in rows if a["whole"]]
            yield {**self.sums(rows), "min_ns": min(took, default=None), "max_ns": max(took, default=None), "kernel": name,
                   "mean_delay_ns": self.delay(rows), "share": part(self.ns(rows), self.ns(kernels)), "device": self.name(device)}

    def of_launches(self):
        key = ("device", "of_name", "of_grid", "of_block")
        for (device, name, grid, block), rows in self.by([a for a in self.work if a["of_kind"] == KERNEL],
                                                         lambda a: tuple(a[k] for k in key)):
            yield {**self.sums(rows), "kernel": name, "grid": str(grid), "block": str(block), "mean_delay_ns": self.delay(rows),
                   "device": self.name(device)}

    def of_copies(self):
        copies = [a for a in self.work if a["of_kind"] == COPY]
        for (device, f, t), rows in self.by(copies, lambda a: (a["device"], a["of_from"], a["of_to"])):
            whole = [a for a in rows if a["whole"]]
            yield {"total_ns": self.ns(rows), "copies": len(rows), "size_b": sum(a["size"] for a in rows), "from": MEMORY[f],
                   "to": MEMORY[t], "mean_b": mean([a["size"] for a in rows]), "b_per_s": self.rate(whole, self.ns(whole)),
                   "device": self.name(device)}

    @staticmethod
    def rate(rows, ns):
        return int(sum(a["size"] for a in rows) / (ns / 1e9)) if ns else None

    def of_peers(self):
        def end(a, memory, told):
            return None if memory in OF_HOST else told or (a["device"] if memory in OF_DEVICE else None)

        def way(a):
            return end(a, a["of_from"], a["of_of"][0]), end(a, a["of_to"], a["of_of"][1])

        for (f, t), rows in self.by([a for a in self.work if a["of_kind"] == COPY], way):
            rows = [a for a in rows if PEER in (a["of_from"], a["of_to"]) or (f and t and f != t)]
            whole, busy = [a for a in rows if a["whole"]], time_of(self.spans(rows, "x"), bool)
            if rows:
                yield {"from": self.name(f), "to": self.name(t), "copies": len(rows), "size_b": sum(a["size"] for a in rows),
                       "b_per_s": self.rate(whole, time_of(self.spans(whole, "x"), bool)), "busy_ns": busy,
                       "busy_share": self.share(busy)}

    def of_streams(self):
        for number, rows in self.by(self.work, lambda a: a["queue"]):
            device = self.queues[number - 1]["device"]
            others = [a for a in self.work if a["device"] == device and a["queue"] != number]
            kernels = [a for a in self.work if a["device"] == device and a["of_kind"] == KERNEL]
            copies = self.spans([a for a in rows if a["of_kind"] == COPY], "c")
            busy, gaps = time_of(self.spans(rows, "x"), bool), [t - f for f, t in gaps_of(self.spans(rows))]
            waits = [(max(a["queued"], self.window[0]), min(a["start"], self.window[1]), a) for a in self.chosen
                     if a["of_kind"] in WORK and a["queue"] == number and a["queued"] is not None]
            waits = [(f, max(f, t)) for f, t, a in waits if f < t or a in rows]
            all_ns = max([t for _, t in waits + self.spans(rows)]) - min([f for f, _ in waits + self.spans(rows)])
            yield {"queue": f"queue {self.queues[number - 1]['handle']}", "activities": len(rows), "busy_share": self.share(busy),
                   "gaps": len(gaps), "idle_ns": sum(gaps), "longest_gap_ns": max(gaps, default=None),
                   "mean_delay_ns": self.delay(rows), "depth": part(sum(t - f for f, t in waits), all_ns) if waits else None,
                   "overlap_share": part(time_of(self.spans(rows, "x") + self.spans(others, "o"), lambda on: len(on) == 2), busy),
                   "copy_overlap_share": part(time_of(copies + self.spans(kernels, "k"), lambda on: len(on) == 2),
                                              time_of(copies, bool)), "device": self.name(device)}

    def of_device_gaps(self):
        """Of each gap a row for each activity that may have ended it: several may begin at once."""
        causes = {SYNC: 1, BUILD: 2}
        for device, rows in self.by(self.work, lambda a: a["device"]):
            for f, t in gaps_of(self.spans(rows)):
                yield [self.gap(f, t, a, causes) for a in rows if a["from"] == t]

    def gap(self, f, t, then, causes):
        calls = [a for a in self.chosen if a["of_kind"] >= API and a["known"] and then["known"]]
        held = [(a["start"], a["end"], causes.get(a["of_kind"], 3)) for a in calls]
        held += [(then["queued"], t, 0)] if then["queued"] is not None else []
        held = [(max(a, f), min(b, t), cause) for a, b, cause in held if max(a, f) < min(b, t)]
        shares = [time_of(held, lambda on, cause=cause: on and min(on) == cause) / (t - f) for cause in range(4)]
        return {"gap_ns": t - f, "at_ns": f, "next": then["of_name"], "device": self.name(then["device"]),
                **dict(zip(("asked_share", "sync_share", "build_share", "api_share"), shares))}

    def of_device_calls(self):
        calls = [a for a in self.within if a["of_kind"] >= API]
        for (name, kind), rows in self.by(calls, lambda a: (a["of_name"], a["of_kind"])):
            yield {**self.sums(rows), "max_ns": max([a["end"] - a["start"] for a in rows if a["whole"]], default=None),
                   "call": name, "kind": KINDS[kind], "size_b": sum(a["size"] for a in rows) or None}

    def blocks(self):
        """Of all threads and times: from the end of the call to the next one of that address, which begins or ends."""
        calls = [(a["address"], a["start"] if a["of_kind"] == FREE else a["end"], a["of_kind"] == ALLOC, a["size"], a)
                 for a in self.all if a["address"] and (a["of_kind"] == FREE or (a["of_kind"] == ALLOC and a["size"]))]
        calls.sort(key=lambda call: call[:4])
        for i, (address, at, is_alloc, size, a) in enumerate(calls):
            if is_alloc:
                then = next((call[1] for call in calls[i + 1:] if call[0] == address), math.inf)
                device = a["of_of"][1] or (1 if self.devices == 1 else None)
                yield {"from": at, "to": then, "size": size, "device": device, "kind": a["of_to"], "call": a["of_name"]}

    @staticmethod
    def alive(blocks, at):
        return [b for b in blocks if b["from"] <= at < b["to"]]

    def peak(self, blocks):
        times = sorted({self.window[0], *(b["from"] for b in blocks if self.window[0] <= b["from"] <= self.window[1])})
        held = [sum(b["size"] for b in self.alive(blocks, at)) for at in times]
        return max(held), times[held.index(max(held))]

    def of_device_memory(self):
        for (device, kind), blocks in self.by(self.blocks(), lambda b: (b["device"], b["kind"])):
            peak, at = self.peak(blocks)
            end = self.alive(blocks, self.window[1])
            begun = [b for b in blocks if self.window[0] <= b["from"] <= self.window[1]]
            yield {"peak_b": peak, "peak_at_ns": at if peak else None, "end_b": sum(b["size"] for b in end),
                   "end_blocks": len(end), "allocated_b": sum(b["size"] for b in begun), "allocations": len(begun),
                   "memory": MEMORY[kind], "device": self.name(device) or "unknown"}

    def of_device_peak(self):
        for (device, kind), blocks in self.by(self.blocks(), lambda b: (b["device"], b["kind"])):
            peak, at = self.peak(blocks)
            for (call, size), held in self.by(self.alive(blocks, at), lambda b: (b["call"], b["size"])):
                yield {"held_b": size * len(held), "blocks": len(held), "size_b": size, "share": part(size * len(held), peak),
                       "left_b": size * sum(b["to"] == math.inf for b in held), "call": call, "memory": MEMORY[kind],
                       "device": self.name(device) or "unknown"}


SECTIONS = ("devices", "kernels", "launches", "copies", "peers", "streams", "device-gaps", "device-calls", "device-memory",
            "device-peak")


def is_same(said, found):
    if isinstance(said, float) or isinstance(found, float):
        return said is not None and found is not None and abs(said - found) <= 1e-9 * max(1, abs(found))
    return said == found


def differs(row, found):
    return {key: (row.get(key), value) for key, value in found.items() if not is_same(row.get(key), value)}


def compare(section, said, found, where):
    """Each row that is found has one that is said, and none is left; how many."""
    count = len(said)
    for rows in found:
        rows = rows if isinstance(rows, list) else [rows]
        least = min(((differs(row, other), i) for i, row in enumerate(said) for other in rows), key=lambda at: len(at[0]),
                    default=({"no row": rows}, None))
        if least[0]:
            sys.exit(f"{where}: {section}: (said, found): {least[0]} of {rows[0]}")
        said.pop(least[1])
    if said:
        sys.exit(f"{where}: {section}: not found: {said[0]}")
    return count


def output_of(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def check(sonde, made, offset_ns, window, thread, options, where):
    report = json.loads(output_of(sonde, "report", "-q", "--json", "-n", 100000, "--section", ",".join(SECTIONS), *options,
                                  "o.sonde"))
    said = {section["id"]: section["rows"] for section in report["sections"]}
    model, where = Model(made, offset_ns, window, thread), f"{where} {' '.join(options)}"
    return sum(compare(section, said.get(section, []), getattr(model, "of_" + section.replace("-", "_"))(), where)
               for section in SECTIONS)


def recorded_rows(sonde):
    """What SQL has of activities; None where it cannot be asked."""
    columns = "start_ns, end_ns, kind, delay_ns, correlation, size_b, address"
    asked = subprocess.run([sonde, "query", "-q", "-f", "json", "o.sonde", f"SELECT {columns} FROM activities"],
                           capture_output=True, text=True)
    return json.loads(asked.stdout) if not asked.returncode else None


def check_rows(rows, made, offset_ns, where):
    def order(row):
        return [-1 if value is None else value for value in row]

    told = sorted(order([a["start"] + offset_ns, a["end"] + offset_ns, KINDS[made["operations"][a["operation"] - 1]["kind"]],
                         a["start"] - a["queued"] if a["queued"] >= 0 else None, a["correlation"] or None, a["size"],
                         a["address"] or None]) for a in made["activities"])
    if told != sorted(order(row.values()) for row in rows):
        sys.exit(f"{where}: rows of SQL are not what was told")


def run_of(sonde):
    """From when it was recorded, CLOCK_MONOTONIC; how long."""
    rows = json.loads(output_of(sonde, "report", "-q", "--json", "--section", "summary", "o.sonde"))["sections"][0]["rows"]
    return round(1e9 * next(row["value"] for row in rows if row["metric"] == "timing.wall_time_s"))


def main(sonde, target, *seeds):
    count = 0
    for seed in seeds:
        made, r = made_up(int(seed)), random.Random(seed)
        with open("script", "w", encoding="ascii") as script:
            script.write(script_of(made))
        thread = output_of(sonde, "record", "-q", "--force", "-o", "o.sonde", "--", target, "script").split()[1]
        rows, end = recorded_rows(sonde), run_of(sonde)
        if rows is None:
            print("no SQL: times of recordings are not known")
            sys.exit(77)
        offset_ns = min(row["start_ns"] for row in rows) - min(a["start"] for a in made["activities"])
        check_rows(rows, made, offset_ns, f"seed {seed}")
        count += check(sonde, made, offset_ns, (0, end), None, [], f"seed {seed}")
        count += check(sonde, made, offset_ns, (0, end), thread, ["--thread", thread], f"seed {seed}")
        edges = sorted({a[key] + offset_ns for a in made["activities"] for key in ("start", "end")})
        for window in (sorted(r.sample(edges, 2)), sorted((r.randrange(1, end), r.randrange(1, end)))):
            options = ["--from", f"{window[0]}ns", "--to", f"{window[1]}ns"]
            count += check(sonde, made, offset_ns, window, None, options, f"seed {seed}")
    print(count)


if __name__ == "__main__":
    main(*sys.argv[1:])
