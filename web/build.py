"""build.py: the page as a C table: build.py SOURCE BUILD none|may|must OUT.c.

Packages go to BUILD/npm, as package-lock.json names them, and stay there: a second build needs no network. SOURCE is only
read. `none`: the page that says that there is none; `may`: that page where the packages cannot be had; `must`: an error.
"""
import os
import pathlib
import shutil
import subprocess
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
BUNDLE = ["--bundle", "--minify", "--charset=utf8", "--target=es2020", "--jsx=automatic", "--jsx-import-source=preact",
          "--legal-comments=none", "--log-level=warning"]


def run(command, folder):
    """Runs it in a folder; what it said where it failed, else nothing."""
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=180, text=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stdout.strip() or f"exit code {done.returncode}" if done.returncode else ""


def why(said):
    """The line of npm's that tells."""
    lines = [line for line in said.splitlines() if line.startswith("npm error ") and " " in line[10:].strip()]
    return next((line[10:] for line in lines if line.split()[2] not in ("code", "errno", "syscall")), said.splitlines()[0])


def packages(source, folder):
    """What the lock file names, installed into the folder unless it is there."""
    lock = (source / "package-lock.json").read_text()
    mark = folder / "complete"
    if mark.exists() and mark.read_text() == lock:
        return ""
    folder.mkdir(parents=True, exist_ok=True)
    mark.unlink(missing_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(source / name, folder / name)
    failed = run(["npm", "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline",
                  "--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=20000"], folder)
    failed = failed or run(["node", "node_modules/esbuild/bin/esbuild", "--version"], folder)
    if not failed:
        mark.write_text(lock)
    return failed


def bundle(source, folder, out):
    """app.js and app.css of a copy of the sources beside the packages."""
    shutil.rmtree(folder / "src", ignore_errors=True)
    shutil.copytree(source / "src", folder / "src")
    esbuild = ["node", str(folder / "node_modules/esbuild/bin/esbuild"), *BUNDLE, f"--outdir={out}"]
    return run([*esbuild, "--entry-names=app", "src/main.tsx"], folder) or run([*esbuild, "src/app.css"], folder)


def pages(source, build, how):
    """The files of the page by path."""
    out = build / "page"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    failed = how == "none"
    if not failed:
        failed = packages(source, build / "npm")
        if failed and how == "must":
            sys.exit(f"web: npm ci: {failed}")
        if failed:
            print(f"web: a page without its program (-Dweb=auto): npm ci: {why(failed)}", file=sys.stderr)
    if not failed:
        wrong = bundle(source, build / "npm", out)
        if wrong:
            sys.exit(f"web: {wrong}")
    shutil.copyfile(source / ("none.html" if failed else "src/index.html"), out / "index.html")
    for name in ("app.js", "app.css"):
        (out / name).touch() # nothing, of the page that has no program
    shutil.copyfile(source / "favicon.svg", out / "favicon.svg")
    return {"/": out / "index.html", "/app.js": out / "app.js", "/app.css": out / "app.css", "/favicon.ico": out / "favicon.svg"}


def main():
    source, build, how, out = sys.argv[1:]
    with open(out + ".part", "w", encoding="ascii") as c:
        rows = []
        c.write('/* assets.c: the page, as web/build.py built it. */\n#include "assets/assets.h"\n\n')
        for number, (path, file) in enumerate(pages(pathlib.Path(source), pathlib.Path(build), how).items()):
            data = file.read_bytes()
            c.write(f"static const unsigned char data{number}[{len(data) + 1}] = {{\n")
            for at in range(0, len(data), 32):
                c.write(",".join(map(str, data[at : at + 32])) + ",\n")
            c.write("0};\n")
            rows.append(f'\t{{"{path}", "{TYPES[file.suffix]}", data{number}, {len(data)}}},\n')
        c.write(f"const struct sonde_asset sonde_assets[] = {{\n{''.join(rows)}}};\n")
        c.write(f"const size_t sonde_asset_count = {len(rows)};\n")
    os.replace(out + ".part", out)


main()
