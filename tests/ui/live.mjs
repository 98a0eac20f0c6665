/* live.mjs: a live run in the browser: live.mjs SONDE CHROMIUM TOLD FOLDER. TOLD is a program controlled through its standard
 * input; FOLDER is where the recording goes. The page follows, pauses, catches up, shows the end, and stays when sonde has
 * exited. At the end it is compared with `sonde report` of the file. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { report } from "./fixture.mjs";
import { accessible, cells, launch, open, schemes, shoot, together, until } from "./lib.mjs";

const [sonde, browserPath, told, folder] = process.argv.slice(2);

/* A run: its address, and a way to send commands to the program. */
async function begin(name, options = []) {
	const file = `${folder}/${name}.sonde`;
	const child = spawn(sonde, ["live", "-q", "--no-token", "--no-open", "--port", "0", "-f", "-o", file, ...options, "--", told], { stdio: ["pipe", "pipe", "pipe"] });
	const url = await new Promise((found) => {
		let text = "";
		child.stderr.on("data", (part) => {
			text += part;
			const at = /^http\S+/m.exec(text);
			if (at)
				found(at[0]);
		});
	});
	child.stdout.resume();
	return { file, url, child, tell: (line) => child.stdin.write(`${line}\n`), ended: once(child, "exit") };
}

const counts = async (page) => Object.fromEntries((await cells(page, ".grid")).map((row) => [row[0], row[1]]));

const PATIENCE = 1200; /* 50 ms each: on a busy machine a round is costly, and the next comes late */

/* Waits until the table of zones has this figure. */
async function shows(page, zone, count, is = (found) => found === String(count)) {
	for (let left = PATIENCE; !is((await counts(page))[zone]); left--) {
		assert(left > 0, `never came: ${zone} ${count} times; there is ${JSON.stringify(await counts(page))}`);
		await page.waitForTimeout(50);
	}
}

/* Requests everything, however expensive. */
async function again(page) {
	await page.click(".live >> text=Pause");
	await page.click(".live >> text=Catch up");
}

const standing = (page) => page.textContent(".live .standing");
const kind = (page, wanted) => until(page, (name) => document.querySelector(".live")?.dataset.live === name, wanted);

/* Seconds that the strip counts. */
async function seconds(page) {
	const [, number, unit] = /([\d.]+) (ms|s|min)/.exec(await standing(page)) ?? [];
	return Number(number) * { ms: 1e-3, s: 1, min: 60 }[unit];
}

/* Waits until the growing recording has this many, whatever the page shows. */
async function recorded(page, run, zone, count) {
	for (let left = PATIENCE, now = -1; now !== count; left--) {
		assert(left > 0, `never recorded: ${zone} ${count} times; there is ${now}`);
		const answer = await (await fetch(`${run.url}api/report?section=zones`)).json();
		now = (answer.sections[0].rows ?? []).filter((row) => row.zone === zone).reduce((sum, row) => sum + row.calls, 0);
		await page.waitForTimeout(50);
	}
}

/* Waits until the page has been notified of more: it has started whatever else it does then. */
async function hears(page) {
	const before = await page.textContent(".live");
	await until(page, (text) => document.querySelector(".live").textContent !== text, before);
}

/* Waits until it has started another round of requests. */
const revision = (page) => page.getAttribute(".live .standing", "data-revision");
const moved = (page, before) => until(page, (text) => document.querySelector(".live .standing").dataset.revision !== text, before);

async function follows(page, run) {
	await kind(page, "live");
	run.tell("alpha 3");
	await page.goto(`${run.url}#/zones`);
	await shows(page, "alpha", 3);
	run.tell("beta 2");
	await shows(page, "beta", 2);
	const before = await seconds(page);
	await until(page, (least) => parseFloat(/[\d.]+/.exec(document.querySelector(".live .standing").textContent)[0]) > least, before);
	assert.equal(await page.locator(".stale").count(), 0, "what is asked again does not fade");
	await accessible(page, "a live page");
	await shoot(page, "live");
	await page.goto(`${run.url}#/overview`);
	await page.waitForSelector("[data-fact=as-of] >> text=/As of [0-9.]+ m?s of the run/");
	for (const metric of ["timing.cpu_time_s", "compute.cpu_utilization_percent", "memory.peak_process_rss_b"])
		await until(page, (name) => /^≥ [0-9.]+/.test(document.querySelector(`[data-metric="${name}"] dd`)?.textContent ?? ""), metric);
	await page.waitForSelector("[data-fact=read]");
	await accessible(page, "a live overview");
	await page.goto(`${run.url}#/zones`);
}

async function pauses(page, run) {
	await page.click(".live >> text=Pause");
	await kind(page, "paused");
	const shown = await counts(page);
	run.tell("alpha 4");
	await page.waitForSelector(".live .behind");
	await recorded(page, run, "alpha", 7);
	await hears(page);
	await hears(page);
	assert.deepEqual(await counts(page), shown, "a paused page stays as it is");
	await accessible(page, "a paused page");
	await shoot(page, "live-paused");
	await page.click(".live >> text=Catch up");
	await shows(page, "alpha", 7);
	await kind(page, "live");
}

/* Only the last seconds of the run: earlier data is not shown. */
async function moves(page, run) {
	await page.selectOption(".live select", { label: "the last 5.00 s" });
	await until(page, () => location.hash.includes("last="));
	for (const past = (await seconds(page)) + 5.5; (await seconds(page)) < past;)
		await hears(page);
	let betas = 2;
	for (let tries = 20, now = {}; !(now.beta && !now.alpha); now = await counts(page)) {
		assert(tries-- > 0, `what was before the last seconds is still there: ${JSON.stringify(now)}`);
		const before = await revision(page);
		run.tell("beta 1");
		await recorded(page, run, "beta", ++betas);
		await hears(page);
		await again(page);
		await moved(page, before);
		await shows(page, "beta", undefined, (found) => found !== undefined);
	}
	assert((await page.textContent(".chip")).includes(" to "), "what part it is");
	await page.selectOption(".live select", "");
	await shows(page, "alpha", 7);
	await again(page);
	await shows(page, "beta", betas);
	run.betas = betas;
}

/* The timeline grows with the run, and is not empty in between. */
async function timeline(page, run) {
	const reach = () => page.evaluate(() => Number(document.querySelector("[data-view]")?.dataset.view.split("-")[1] ?? 0));
	await page.goto(`${run.url}#/timeline`);
	await page.waitForSelector("[data-view]");
	const before = await reach();
	run.tell("beta 3");
	await recorded(page, run, "beta", run.betas + 3);
	for (const past = (await seconds(page)) + 1.5; (await seconds(page)) < past;)
		await hears(page);
	await again(page);
	await until(page, (end) => Number(document.querySelector("[data-view]")?.dataset.view.split("-")[1] ?? 0) > end + 1e9, before);
	await shoot(page, "live-timeline");
	await page.selectOption(".live select", { label: "the last 5.00 s" });
	await until(page, () => Number(document.querySelector("[data-view]").dataset.view.split("-")[0]) > 0);
	await page.selectOption(".live select", "");
	await page.goto(`${run.url}#/zones`);
	await shows(page, "beta", run.betas + 3);
}

async function ends(page, run) {
	run.tell("exit 3");
	await kind(page, "ended");
	assert((await standing(page)).startsWith("The command ended with exit code 3."), await standing(page));
	const rows = (await report(sonde, run.file, "zones")).sections[0].rows;
	await until(page, (count) => document.querySelectorAll(".grid tbody tr:not([aria-hidden])").length === count, rows.length);
	for (const row of rows)
		assert.equal((await counts(page))[row.zone], row.calls.toLocaleString("en-US"), row.zone);
	await page.goto(`${run.url}#/overview`);
	const summary = (await report(sonde, run.file, "summary")).sections[0].rows;
	const wanted = summary.find((row) => row.metric === "zones.count").value.toLocaleString("en-US");
	await until(page, (count) => document.querySelector('.figures [data-metric="zones.count"] dd')?.textContent === count, wanted);
	await accessible(page, "a page whose run has ended");
	await shoot(page, "live-ended");
	run.child.kill("SIGTERM"); /* a page is open: it would go on */
	assert.deepEqual(await run.ended, [3, null], "the command's exit code");
	await kind(page, "lost");
	assert((await standing(page)).includes("sonde has exited"), await standing(page));
	assert(await page.locator('.figures [data-metric="zones.count"]').isVisible(), "what was shown stays");
	await shoot(page, "live-gone");
}

/* The program is killed while the page shows the run. */
async function dies(browser) {
	const run = await begin("dies"), page = await open(browser, run.url);
	run.tell("alpha 5");
	await page.goto(`${run.url}#/zones`);
	await shows(page, "alpha", 5);
	const [{ pid }] = await page.evaluate(() => fetch("api/recording").then((answer) => answer.json())).then((recording) => recording.processes);
	process.kill(pid, "SIGKILL");
	await kind(page, "ended");
	assert((await standing(page)).startsWith("The command was killed by signal 9 (Killed)."), await standing(page));
	await shows(page, "alpha", 5);
	assert.deepEqual(page.wrong, []);
	await page.context().close();
	assert.deepEqual(await run.ended, [null, "SIGKILL"], "it ends as the command did, when no page is open any more");
}

/* A hidden page requests nothing. */
async function hides(browser) {
	const run = await begin("hides", ["--once"]), page = await open(browser, run.url);
	await kind(page, "live");
	await page.evaluate(() => {
		Object.defineProperty(document, "hidden", { configurable: true, get: () => true });
		document.dispatchEvent(new Event("visibilitychange"));
	});
	await hears(page); /* follow-up requests of an earlier answer have been sent, too */
	await hears(page);
	let asked = 0;
	page.on("request", () => asked++);
	run.tell("alpha 50");
	await recorded(page, run, "alpha", 50);
	await hears(page);
	await hears(page);
	assert.equal(asked, 0, "a hidden page asks");
	await page.evaluate(() => {
		Object.defineProperty(document, "hidden", { configurable: true, get: () => false });
		document.dispatchEvent(new Event("visibilitychange"));
	});
	await until(page, () => document.querySelector('.figures [data-metric="zones.count"] dd')?.textContent === "50");
	run.tell("exit 0");
	assert.deepEqual(await run.ended, [0, null], "--once ends with the command");
	await page.context().close();
}

async function whole(browser, colorScheme) {
	const run = await begin(colorScheme), page = await open(browser, run.url, { colorScheme });
	for (const part of [follows, pauses, moves, timeline, ends])
		await part(page, run);
	assert.deepEqual(page.wrong.filter((at) => !/ERR_/.test(at)), []); /* sonde has gone in the end */
	await page.context().close();
}

async function main() {
	const browser = await launch(browserPath);
	try {
		await together(...schemes.map((colorScheme) => whole(browser, colorScheme)));
		await together(dies(browser), hides(browser));
	} finally {
		await browser.close();
	}
}

await main();
