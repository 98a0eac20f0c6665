"""firefox_check.py: what a processed profile of the Firefox Profiler must hold: columns of one length, rows that are
there, samples in the order of time, markers that end after they begin, of types that the schema knows."""
import json


def expect(condition, sentence):
    if not condition:
        raise ValueError(sentence)


def check_table(name, table, columns):
    expect(set(columns) <= set(table), f"{name} lacks {set(columns) - set(table)}")
    for column in columns:
        expect(len(table[column]) == table["length"], f"{name}.{column} has {len(table[column])} rows of {table['length']}")


def within(name, column, count, absent=None):
    expect(all(value == absent or isinstance(value, int) and 0 <= value < count for value in column),
           f"{name} names a row that is not there")


def ns(value):
    """Milliseconds with six decimals, exactly."""
    whole, _, part = value.partition(".")
    return int(whole) * 1000000 + int(part.ljust(6, "0"))


def check_stacks(thread, libraries, categories):
    strings, functions, frames = len(thread["stringArray"]), thread["funcTable"], thread["frameTable"]
    stacks, resources = thread["stackTable"], thread["resourceTable"]
    check_table("stackTable", stacks, ["prefix", "frame", "category", "subcategory"])
    check_table("frameTable", frames, ["address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol",
                                       "innerWindowID", "implementation", "line", "column"])
    check_table("funcTable", functions, ["name", "isJS", "relevantForJS", "resource", "fileName", "lineNumber", "columnNumber"])
    check_table("resourceTable", resources, ["lib", "name", "host", "type"])
    check_table("nativeSymbols", thread["nativeSymbols"], ["libIndex", "address", "name", "functionSize"])
    expect(all(prefix is None or 0 <= prefix < row for row, prefix in enumerate(stacks["prefix"])), "a stack above itself")
    within("stackTable.frame", stacks["frame"], frames["length"])
    within("stackTable.category", stacks["category"], categories)
    within("frameTable.func", frames["func"], functions["length"])
    within("funcTable.name", functions["name"], strings)
    within("funcTable.fileName", functions["fileName"], strings)
    within("funcTable.resource", functions["resource"], resources["length"], -1)
    within("resourceTable.lib", resources["lib"], libraries)
    within("resourceTable.name", resources["name"], strings)
    expect(len(set(thread["stringArray"])) == strings, "a text stands twice")
    expect(all(thread["stringArray"][name] for name in functions["name"]), "a function without a name")


def check_markers(thread, types, categories):
    markers = thread["markers"]
    check_table("markers", markers, ["name", "startTime", "endTime", "phase", "category", "data"])
    within("markers.name", markers["name"], len(thread["stringArray"]))
    within("markers.category", markers["category"], categories)
    for start, end, phase, data in zip(markers["startTime"], markers["endTime"], markers["phase"], markers["data"]):
        expect((phase, end is None) in ((0, True), (1, False)), f"phase {phase} of a marker to {end}")
        expect(end is None or ns(start) <= ns(end), f"a marker from {start} to {end}")
        expect(data["type"] in types and set(data) - {"type"} <= types[data["type"]], f"data that no schema knows: {data}")


def load(path):
    with open(path, encoding="utf-8", errors="strict") as file:
        text = file.read()
    expect(all(char in "\n" or ord(char) >= 32 and char not in "\x7f\u202e" for char in text), "a control character")
    return json.loads(text, parse_float=str)


def check_firefox(path):
    profile = load(path)
    meta = profile["meta"]
    expect(meta["preprocessedProfileVersion"] == 48 and profile["threads"], "not a profile of that version, or without threads")
    types = {schema["name"]: {field["key"] for field in schema["data"]} for schema in meta["markerSchema"]}
    total = samples = 0
    for thread in profile["threads"]:
        check_stacks(thread, len(profile["libs"]), len(meta["categories"]))
        check_markers(thread, types, len(meta["categories"]))
        rows = thread["samples"]
        check_table("samples", rows, ["stack", "time", "weight", "threadCPUDelta"])
        within("samples.stack", rows["stack"], thread["stackTable"]["length"])
        times = [ns(time) for time in rows["time"]]
        expect(times == sorted(times), "samples are not in the order of time")
        expect([ns(weight) for weight in rows["weight"]] == rows["threadCPUDelta"], "weights are not CPU times")
        total += sum(ns(weight) for weight in rows["weight"])
        samples += rows["length"]
    for counter in profile["counters"]:
        check_table("counter", counter["samples"], ["time", "count"])
        expect(counter["name"] and 0 <= counter["mainThreadIndex"] < len(profile["threads"]), "a counter of nobody")
        value = 0
        for change in counter["samples"]["count"]:
            value += change
            expect(value >= 0, f"{counter['name']} is less than nothing")
    return total, None
