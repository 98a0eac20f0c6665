/* fixture.mjs: a stand-in for the server: the built page, and `sonde report --json` of one recording. If the program has `sonde
 * view`, the test uses that instead. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { promisify } from "node:util";

const run = promisify(execFile);
const FILES = { "/": ["index.html", "text/html; charset=utf-8"], "/app.js": ["app.js", "text/javascript"], "/app.css": ["app.css", "text/css"], "/favicon.ico": ["favicon.svg", "image/svg+xml"] };
const POLICY = "default-src 'self'; frame-ancestors 'none'";

export async function report(sonde, file, sections, options = []) {
	const { stdout } = await run(sonde, ["report", "-q", "--json", "--section", sections, ...options, file], { maxBuffer: 1 << 28 });
	return JSON.parse(stdout);
}

export async function query(sonde, file, sql) {
	const { stdout } = await run(sonde, ["query", "-f", "json", file, sql], { maxBuffer: 1 << 28 });
	return JSON.parse(stdout);
}

async function contents(sonde, file) {
	const all = await report(sonde, file, "all", ["-n", "100000"]);
	const find = (id) => all.sections.find((section) => section.id === id);
	const wall = find("summary").rows.find((row) => row.metric === "timing.wall_time_s").value;
	const threads = find("threads")?.rows ?? [];
	return {
		version: 1, file, command: all.title, duration_ns: Math.round(wall * 1e9), processes: [], sections: all.sections.map((section) => section.id),
		threads: threads.map((row, i) => ({ id: i + 1, process: 1, tid: row.tid, name: row.thread, start_ns: 0, end_ns: 0 })),
	};
}

export async function serve(sonde, file, page) {
	const recording = await contents(sonde, file);
	async function answer(url) {
		const words = url.searchParams;
		if (url.pathname === "/api/recording")
			return [JSON.stringify(recording), "application/json"];
		if (url.pathname === "/api/runs")
			return [JSON.stringify({ version: 1, runs: [{ run: "a", file, command: recording.command }] }), "application/json"];
		if (url.pathname === "/api/report") {
			const options = ["-n", words.get("limit") ?? "20"];
			for (const key of ["focus", "weigh"])
				if (words.has(key))
					options.push("--" + key, words.get(key));
			if (words.has("thread"))
				options.push("--thread", String(recording.threads[Number(words.get("thread")) - 1].tid));
			return [JSON.stringify(await report(sonde, file, words.get("section"), options)), "application/json"];
		}
		const [name, type] = FILES[url.pathname];
		return [readFileSync(`${page}/${name}`), type];
	}
	const server = createServer((request, response) => {
		const say = (code, body, type) => response.writeHead(code, { "content-type": type, "content-security-policy": POLICY }).end(body);
		answer(new URL(request.url, "http://localhost")).then(([body, type]) => say(200, body, type), (error) => say(400, JSON.stringify({ error: String(error) }), "application/json"));
	});
	await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
	return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}
