"""perfetto_check.py: what a trace of Perfetto's packets must hold, read by the wire format alone.

Every packet of one sequence that says where it begins; what a table's number names is there before it is used; tracks
are described before their events; sorted by time (in the file's order within one moment) slices of a track nest and
all end; every arrow has one beginning, and one end that is not before it.
"""

PACKET = {"clocks": 6, "time": 8, "sequence": 10, "event": 11, "interned": 12, "flags": 13, "defaults": 59, "track": 60,
          "sample": 66}
BEGIN, END, INSTANT, COUNT = 1, 2, 3, 4
CATEGORIES, NAMES, KEYS, PLACES, FUNCTIONS, FRAMES, STACKS, BUILD_IDS, PATHS, MODULES = 1, 2, 3, 4, 5, 6, 7, 16, 17, 19


def expect(condition, sentence):
    if not condition:
        raise ValueError(sentence)


def varint(data, at):
    value = shift = 0
    while True:
        expect(at < len(data) and shift < 70, "a number that does not end")
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of a message: an int, or bytes."""
    at, out = 0, []
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        else:
            expect(kind == 2, f"wire type {kind}")
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        expect(at <= len(data), "a field that is cut off")
        out.append((tag >> 3, value))
    return out


def one(message, number, default=None):
    """The last value of a field, which holds."""
    return next((value for key, value in reversed(message) if key == number), default)


def text(value):
    value = value.decode("utf-8", errors="strict")
    expect(all(ord(char) >= 32 and char not in "\x7f\u202e" for char in value), f"a control character in {value!r}")
    return value


class Trace:
    def __init__(self):
        self.tables, self.tracks, self.events, self.samples, self.flows = {}, {}, [], [], {}
        self.counts = {}

    def define(self, message):
        for table, entry in fields(message):
            entry = fields(entry)
            number, rows = one(entry, 1), self.tables.setdefault(table, {})
            expect(number and number not in rows, f"entry {number} of table {table} comes twice, or has no number")
            if table in (CATEGORIES, NAMES, KEYS, FUNCTIONS, BUILD_IDS, PATHS):
                rows[number] = text(one(entry, 2))
                continue
            if table == FRAMES:
                self.there(FUNCTIONS, one(entry, 2)), self.there(MODULES, one(entry, 3))
            elif table == PLACES:
                expect(text(one(entry, 2)) or text(one(entry, 3)), "a place that is nowhere")
            elif table == MODULES:
                self.there(PATHS, one(entry, 7)), self.there(BUILD_IDS, one(entry, 2, 0))
            elif table == STACKS:
                expect([self.there(FRAMES, frame) for key, frame in entry if key == 2], "a stack without a frame")
            rows[number] = entry

    def there(self, table, number):
        expect(number == 0 or number in self.tables.get(table, {}), f"{number} of table {table} is used before it is there")
        return True

    def track(self, message):
        message = fields(message)
        number, parent = one(message, 1), one(message, 5, 0)
        expect(number and number not in self.tracks, f"track {number} is described twice")
        expect(parent == 0 or parent in self.tracks, f"track {number} is below {parent}, which is not there")
        name = one(message, 2)
        self.tracks[number] = {"name": text(name) if name else "", "counter": one(message, 8) is not None}

    def event(self, time, message):
        message = fields(message)
        kind, track = one(message, 9), one(message, 11)
        expect(track in self.tracks, f"an event on track {track}, which is not there")
        expect((kind == COUNT) == self.tracks[track]["counter"], f"track {track} has both values and slices")
        self.there(CATEGORIES, one(message, 3, 0)), self.there(NAMES, one(message, 10, 0))
        self.there(PLACES, one(message, 34, 0))
        expect(kind in (END, COUNT) or one(message, 10) or one(message, 23), "an event without a name")
        for key, value in message:
            if key == 4:
                value = fields(value)
                self.there(KEYS, one(value, 1, 0))
                expect(one(value, 1) or one(value, 10), "an argument without a name")
            elif key in (47, 48):
                self.flows.setdefault(value, []).append((key == 48, time))
        if kind == COUNT:
            self.counts.setdefault(track, []).append(one(message, 30))
        else:
            self.events.append((time, track, kind))

    def packet(self, message, index):
        message = fields(message)
        expect(one(message, PACKET["sequence"]) == 1, "a packet of no sequence")
        expect(one(message, PACKET["flags"]) == (2 if index else 1), "the sequence's beginning is not said")
        expect(index or one(message, PACKET["defaults"]) and one(message, PACKET["clocks"]), "no clock is said")
        time = one(message, PACKET["time"])
        for key, value in message:
            if key == PACKET["interned"]:
                self.define(value)
            elif key == PACKET["track"]:
                self.track(value)
            elif key == PACKET["event"]:
                self.event(time, value)
            elif key == PACKET["sample"]:
                value = fields(value)
                self.there(STACKS, one(value, 4))
                expect(time and one(value, 2) is not None and one(value, 3) is not None, "a sample of nobody")
                self.samples.append(value)

    def check(self):
        depth = {}
        for time, track, kind in sorted(self.events, key=lambda event: event[0]):
            if kind in (BEGIN, END):
                depth[track] = depth.get(track, 0) + (1 if kind == BEGIN else -1)
                expect(depth[track] >= 0, f"a slice of track {track} ends before it begins, at {time} ns")
        open_still = [track for track, left in depth.items() if left]
        expect(not open_still, f"slices of tracks {open_still} do not end")
        for number, ends in self.flows.items():
            expect(sorted(end for end, _ in ends) == [False, True], f"arrow {number} has not two ends")
            begin, end = sorted(ends)
            expect(begin[1] <= end[1], f"arrow {number} goes back in time")


def check_perfetto(path):
    with open(path, "rb") as file:
        data = file.read()
    trace = Trace()
    packets = fields(data)
    expect(packets and all(number == 1 and isinstance(packet, bytes) for number, packet in packets), "not only packets")
    for index, (_, packet) in enumerate(packets):
        trace.packet(packet, index)
    trace.check()
    ns = sum(max(values) for track, values in trace.counts.items() if trace.tracks[track]["name"] == "sampled CPU time")
    return ns, len(trace.samples)


def slices(path):
    """What a test asks for: (track's name, slice's name, begin, end) of all slices, sorted by time."""
    trace, out, stacks = Trace(), [], {}
    with open(path, "rb") as file:
        packets = fields(file.read())
    events = []
    for index, (_, packet) in enumerate(packets):
        trace.packet(packet, index)
        message = fields(packet)
        event = one(message, PACKET["event"])
        if event is not None:
            events.append((one(message, PACKET["time"]), fields(event)))
    for time, event in sorted(events, key=lambda pair: pair[0]):
        track, kind = one(event, 11), one(event, 9)
        if kind == BEGIN:
            name = trace.tables[NAMES][one(event, 10)] if one(event, 10) else text(one(event, 23))
            stacks.setdefault(track, []).append((name, time))
        elif kind == END:
            name, begin = stacks[track].pop()
            out.append((trace.tracks[track]["name"], name, begin, time))
    return out
