# hostile_names.py LIST: a line for each pair of outputs: FORMAT, BENIGN, HOSTILE and how they were made, with tabs between.
# Both outputs are of the same recording; in the second, its texts are hostile (tests/targets/hostile.c). They must add
# no element, attribute, link, line, control character or formula to what the first output has.
import csv
import html.parser
import io
import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as tree

format = benign = hostile = made_by = None  # of the pair that is checked


class Shape(html.parser.HTMLParser):
    """The kinds of elements with their attributes, and what is run or followed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.kinds = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.kinds.add((tag, tuple(sorted(name for name, _ in attributes))))
        for name, value in attributes:
            assert name != "href" or "javascript" not in (value or "").lower(), (tag, value)
            assert "31337" not in (value or "") or name in ("title", "aria-label", "data-name"), (tag, name, value)


def fail(why):
    sys.exit(f"{made_by}: {format}: {why}")


def shapes(render):
    new = Shape(render(hostile)).kinds - Shape(render(benign)).kinds
    if new:
        fail(f"elements that names made: {sorted(new)}")


CONTROL = re.compile("[\0-\x1f\x7f-\x9f\u202a-\u202e\u200b-\u200f]")


def no_controls(data, allowed):
    text = data.decode()
    for found in CONTROL.finditer(text):
        if found[0] not in allowed:
            fail(f"U+{ord(found[0]):04X} at {found.start()}: {text[max(0, found.start() - 60):found.start() + 20]!r}")


def as_lines(data, allowed="\n"):
    no_controls(data, allowed)


def as_json(data):
    text = data.decode()
    if re.search("[\0-\x09\x0b-\x1f]", text):
        fail("a control character")
    json.loads(text)


def check_md():
    no_controls(hostile, "\n")
    if b"<script" in hostile or b"<img" in hostile or b"<a " in hostile:
        fail("raw markup")
    renderer = next((r for r in ("cmark-gfm", "cmark") if shutil.which(r)), None)
    if renderer:
        # "unsafe": HTML in the file stays, so that what is live shows
        options = ["--unsafe"] + (["-e", "table", "-e", "autolink", "-e", "strikethrough"] if renderer == "cmark-gfm" else [])
        shapes(lambda data: subprocess.run([renderer, *options], input=data, stdout=subprocess.PIPE, check=True).stdout.decode())


def check_csv():
    as_lines(hostile, "\n\r")
    for row in csv.reader(io.StringIO(hostile.decode(), newline="")):
        for cell in row:
            if cell[:1] in ("=", "+", "@", "\t", "\r") or (cell[:1] == "-" and not cell[1:2].isdigit()):
                fail(f"a formula: {cell[:60]!r}")


def check_svg():
    no_controls(hostile, "\n")
    kinds = [{(e.tag, tuple(sorted(e.attrib))) for e in tree.fromstring(data).iter()} for data in (benign, hostile)]
    names = {tag for tag, _ in kinds[1]} - {tag for tag, _ in kinds[0]}
    if names or any(a.startswith("on") for _, attributes in kinds[1] - kinds[0] for a in attributes):
        fail(f"elements that names made: {sorted(names)}")


def check_html():
    shapes(bytes.decode)
    scripts = [data.lower().count(b"<script") for data in (benign, hostile)]
    if scripts[0] != scripts[1]:
        fail(f"{scripts[1]} scripts instead of {scripts[0]}")


def check_jsonl():
    for line in hostile.split(b"\n"):
        if line:
            as_json(line)


checks = {"md": check_md, "csv": check_csv, "svg": check_svg, "html": check_html, "jsonl": check_jsonl,
          "perfetto": lambda: None, "pprof": lambda: None} # binary: texts have lengths
for name in ("json", "chrome", "firefox", "speedscope"):
    checks[name] = lambda: as_json(hostile)
for name in ("text", "advice", "openmetrics", "folded", "callgrind"):
    checks[name] = lambda: as_lines(hostile)
for line in open(sys.argv[1]):
    format, benign, hostile, made_by = line.rstrip("\n").split("\t")
    benign, hostile = open(benign, "rb").read(), open(hostile, "rb").read()
    if format not in checks:
        fail("no check of its own: add one")
    checks[format]()
