"""embed.py: a text file as a C string: embed.py NAME FILE OUT."""
import sys

name, source, out = sys.argv[1:]
with open(source, encoding="utf-8") as lines, open(out, "w", encoding="utf-8") as c:
    c.write(f"static const char {name}[] =\n")
    for line in lines:
        text = line.rstrip("\n").lstrip("\t").replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
        c.write(f'\t"{text}\\n"\n')
    c.write("\t;\n")
