"""check.py: what sonde's outputs must hold, checked with other people's parsers where Python has them.

check.py FORMAT FILE [REPORT.json]: exits 0, or 1 with a sentence on stderr, or 77 when a module is missing. With a JSON
report that has the call tree the output's total must be the report's.
"""
import csv
import io
import json
import os
import re
import sys
import unicodedata
import xml.etree.ElementTree as ElementTree

from firefox_check import check_firefox  # noqa: F401 (by their names, as all below)
from perfetto_check import check_perfetto  # noqa: F401


class Wrong(Exception):
    pass


def expect(condition, sentence):
    if not condition:
        raise Wrong(sentence)


def read(path):
    with open(path, encoding="utf-8", errors="strict", newline="") as file:
        return file.read()


def harmless(text, allowed="\n"):
    """No control character and nothing that reorders text reaches a terminal."""
    for at, char in enumerate(text):
        category = unicodedata.category(char)
        expect(char in allowed or category not in ("Cc", "Cf", "Cs", "Zl", "Zp"),
               f"U+{ord(char):04x} at character {at}")


def tree_total(report):
    """(ns or bytes, samples or blocks) of the call tree's root, or None."""
    for section in report["sections"]:
        if section["id"] == "calltree" and section["kind"] == "tree" and section["nodes"]:
            return section["nodes"][0]["total"], section["nodes"][0]["count"]
    return None


def is_weighed(report):
    """Not by CPU time, of which folded stacks have samples."""
    return any(section["id"] == "calltree" and section.get("value") != "CPU time" for section in report["sections"])


def check_json(path):
    text = read(path)
    harmless(text)
    report = json.loads(text)
    try:
        import jsonschema
    except ImportError:
        print("python3-jsonschema is not installed", file=sys.stderr)
        sys.exit(77)
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "report.schema.json"), encoding="utf-8") as file:
        try:
            jsonschema.validate(report, json.load(file))
        except jsonschema.ValidationError as error:
            raise Wrong(f"{'/'.join(map(str, error.absolute_path))}: {error.message}") from error
    for section in report["sections"]:
        for row in section.get("rows", []):
            keys = {column["key"] for column in section["columns"]}
            expect(keys == set(row) - {"plus_minus", "absent"}, f"{section['id']}: a row's keys are not the columns")
            expect(set(row.get("absent", {})) == {key for key in keys if row[key] is None and key in row.get("absent", {})},
                   f"{section['id']}: a reason for a cell that is there")
        children = {}
        for index, node in enumerate(section.get("nodes", [])):
            expect((node["parent"] is None) == (index == 0), "a second root")
            expect(index == 0 or node["parent"] < index, "a node before its parent")
            children[node["parent"]] = children.get(node["parent"], 0) + node["total"]
        for index, node in enumerate(section.get("nodes", [])):
            expect(node["self"] + children.get(index, 0) == node["total"], f"node {index}: self and children are not total")
    return tree_total(report)


def check_openmetrics(path):
    text = read(path)
    harmless(text)
    try:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
    except ImportError:
        print("python3-prometheus-client is not installed", file=sys.stderr)
        sys.exit(77)
    try:
        families = list(text_string_to_metric_families(text))
    except ValueError as error:
        raise Wrong(str(error)) from error
    expect(len(families) > 1 and families[0].type == "info", "no figures")
    expect(all(family.documentation and family.samples for family in families), "a family without a word or a sample")
    expect(len({family.name for family in families}) == len(families), "a family that comes twice")


def check_csv(path):
    text = read(path)
    harmless(text, "\r\n")
    expect(text.count("\n") == text.count("\r\n"), "a line that does not end in CRLF")
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    width, section = None, None
    for number, row in enumerate(rows, 1):
        if width is None or (row[0] == "section" and rows[0][0] == "section"):
            width = len(row)
        expect(len(row) == width, f"row {number} has {len(row)} fields, its header {width}")
        for cell in row:
            expect(not re.match(r"[=@]|[+-](?![0-9.])", cell), f"row {number} begins a formula: {cell}")
    return None


def check_md(path):
    text = read(path)
    harmless(text)
    width = None
    for number, line in enumerate(text.split("\n"), 1):
        cells = len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) if line.startswith("|") else None
        expect(cells is None or width is None or cells == width, f"line {number} has {cells} bars, not {width}")
        width = cells
    trees = re.findall(r"(?s)<pre>\n(.*?)</pre>\n", text)
    expect(len(trees) == text.count("<pre>"), "a tree that does not end")
    expect(all("<" not in tree for tree in trees), "an unescaped < in a tree")
    outside = re.sub(r"(?s)<pre>\n.*?</pre>\n", "", text).replace("<!-- -->", "")
    expect("<" not in outside, "an unescaped <")
    return None


def check_text(path):
    harmless(read(path))


def check_svg(path):
    text = read(path)
    harmless(text, "\n\t")
    root = ElementTree.parse(path).getroot()
    expect(root.tag == "{http://www.w3.org/2000/svg}svg", "the root is no <svg>")
    scripts = [node for node in root.iter() if node.tag.endswith("}script")]
    expect(len(scripts) == 1, f"{len(scripts)} scripts, not one")
    for node in root.iter():
        for key, value in node.attrib.items():
            expect(not re.search(r"^on|href|src", key) and not re.search(r"https?:|url\(", value), f"{key}={value}")
    for own in re.sub(r'xmlns="[^"]*"|createElementNS\("[^"]*"', "", text).split("\n"):
        expect("http" not in own or own.startswith(("<g", "total", "self")), f"a reference: {own}")
    frames = [node for node in root.iter() if "data-w" in node.attrib]
    expect(frames and int(frames[0].attrib["data-w"]) == 1000000000, "the root frame is not the whole")
    for frame in frames:
        expect(frame[0].tag.endswith("}title") and "total " in frame[0].text, "a frame without its figures")


def check_folded(path):
    text = read(path)
    harmless(text)
    samples = 0
    for number, line in enumerate(text.splitlines(), 1):
        match = re.fullmatch(r"(.+) (\d+)", line)
        expect(match and all(match[1].split(";")), f"line {number}: {line}")
        samples += int(match[2])
    return None, samples


def check_nesting(events):
    by_thread = {}
    for event in events:
        if event["ph"] == "X":
            start = round(event["ts"] * 1000)
            by_thread.setdefault((event["pid"], event["tid"]), []).append((start, -round(event["dur"] * 1000)))
    for thread, zones in by_thread.items():
        stack = []
        for start, minus in sorted(zones):
            while stack and stack[-1] <= start:
                stack.pop()
            expect(not stack or start - minus <= stack[-1], f"zones of {thread} overlap at {start} ns")
            stack.append(start - minus)


def once(pairs):
    """An object of JSON no key of which stands twice."""
    expect(len(dict(pairs)) == len(pairs), f"a key stands twice: {pairs}")
    return dict(pairs)


def check_chrome(path):
    text = read(path)
    harmless(text)
    trace = json.loads(text, object_pairs_hook=once)
    events = trace["traceEvents"]
    opened, flows, samples, ns = {}, {}, 0, 0
    leave, reach = {}, {}  # arrows that are in their slices: when each begins, and each of its ends
    for event in events:
        missing = {"name", "cat", "ph", "pid", "tid", "ts", "args"} - set(event)
        expect(not missing, f"an event without {missing}: {event}")
        expect(event["name"] != "", "a nameless event")
        key = (event["cat"], event.get("id"), event["name"])
        if event["ph"] == "b":
            opened[key] = opened.get(key, 0) + 1
        elif event["ph"] == "e":
            opened[key] = opened.get(key, 0) - 1
            expect(opened[key] >= 0, f"an end before its begin: {key}")
        elif event.get("flow_out"):
            expect(event["bind_id"] not in leave, f"two slices with the arrow {event['bind_id']}")
            leave[event["bind_id"]] = event["ts"]
        elif event.get("flow_in"):
            reach.setdefault(event["bind_id"], []).append(event["ts"])
        elif event["ph"] in "sf":
            flows[key] = flows.get(key, 0) + (1 if event["ph"] == "s" else -1)
        elif event["name"] == "ProfileChunk":
            data = event["args"]["data"]
            expect(len(data["cpuProfile"]["samples"]) == len(data["timeDeltas"]), "samples and their times differ in number")
            samples += len(data["timeDeltas"])
            ns += sum(data["cpuNanoseconds"])
    expect(not any(opened.values()) and not any(flows.values()), "a begin without its end")
    expect(set(leave) == set(reach), "an arrow from nowhere, or to nowhere")
    expect(all(leave[arrow] <= end for arrow, ends in reach.items() for end in ends), "an arrow to before its begin")
    expect(isinstance(trace["baseTimeNanoseconds"], int), "no baseTimeNanoseconds")
    check_nesting(events)
    return ns, samples


def check_speedscope(path):
    profile = json.loads(read(path))
    frames = len(profile["shared"]["frames"])
    ns = 0
    for one in profile["profiles"]:
        expect(len(one["samples"]) == len(one["weights"]), "samples and weights differ in number")
        expect(all(0 <= frame < frames for stack in one["samples"] for frame in stack), "a frame that is not there")
        expect(one["endValue"] - one["startValue"] == sum(one["weights"]), "the weights are not the range")
        ns += sum(one["weights"])
    return ns, None


def check_callgrind(path):
    """The sum of own costs against the file's own totals; callgrind_annotate reads it in run.sh."""
    text = read(path)
    harmless(text)
    own, call, summary = [0, 0], False, None
    for line in text.splitlines():
        cost = re.fullmatch(r"(\d+) (\d+) (\d+)", line)
        if cost and not call:
            own = [own[0] + int(cost[2]), own[1] + int(cost[3])]
        call = line.startswith("calls=")
        if line.startswith(("summary:", "totals:")):
            summary = [int(word) for word in line.split()[1:]]
            expect(line.startswith("summary:") or own == summary, f"own costs {own} are not {line}")
    return own[1], own[0]


def check_pprof(path):
    """`path` is what `go tool pprof -raw` says: a line a sample, its values before the colon: of the CPU two, of the heap
    what was allocated before what is in use."""
    samples = ns = 0
    text = read(path)
    for line in text.splitlines():
        values = re.match(r"\s+(?:\d+\s+\d+\s+)?(\d+)\s+(\d+): [\d ]+$", line)
        if values:
            samples += int(values[1])
            ns += int(values[2])
    expect(samples, "no samples")
    if "space bytes" in text:
        expect("alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes[dflt]" in text,
               "not the values of a heap profile")
    return ns, samples


def main():
    kind, path = sys.argv[1:3]
    try:
        total = globals()[f"check_{kind}"](path)
        if len(sys.argv) > 3 and total:
            report = json.loads(read(sys.argv[3]))
            wanted = tree_total(report)
            if kind == "folded" and is_weighed(report):
                total = total[1], None
            expect(wanted, f"{sys.argv[3]} has no call tree")
            for got, want, what in zip(total, wanted, ("ns", "samples")):
                expect(got is None or got == want, f"{got} {what} in all, and {want} in the report")
    except (Wrong, ValueError, KeyError, csv.Error, ElementTree.ParseError) as error:
        print(f"{path}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


sys.exit(main())
