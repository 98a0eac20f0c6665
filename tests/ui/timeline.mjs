/* timeline.mjs: the timeline in a browser: timeline.mjs SONDE CHROMIUM FILE URL FOLD.mjs [HTML]. The screen is compared with
 * `sonde report --json` of the same recording, and bins that the page merges itself with the server's. FILE: a recording of
 * zones_known 60 with switches; FOLD.mjs: tiles.ts and tiles_fold.ts, bundled; HTML: its report in one file. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { accessible, cells, launch, open, schemes, shoot, together, until } from "./lib.mjs";

const [sonde, browserPath, file, url, foldPath, html] = process.argv.slice(2);
const { decode, Fold } = await import(foldPath);

function report(sections, options = []) {
	return JSON.parse(execFileSync(sonde, ["report", "-q", "--json", "--section", sections, "-n", "1000", ...options, file], { encoding: "utf8", maxBuffer: 1 << 28 })).sections[0].rows;
}

const zones = report("zones");
const zone = (name) => zones.find((row) => row.zone === name);
const ask = async (path) => (await fetch(url + path)).json();
const lanes = await ask("api/lanes");
const nameIndex = (name) => lanes.names.findIndex((at) => at.name === name);
const laneOf = (thread, kind, depth = 0) => lanes.lanes.find((at) => at.thread === thread && at.kind === kind && at.depth === depth);

const stage = (page, key) => page.evaluate((key) => document.querySelector(".stage").dataset[key], key);
const fact = (page, name) => page.textContent(`[data-fact="${name}"]`);
const hash = async (page) => new URLSearchParams((await page.evaluate(() => location.hash)).split("?")[1] ?? "");

/* The window that is drawn once it stops moving and nothing is pending. */
async function still(page) {
	for (let before = "", left = 100; left > 0; left--) {
		const now = `${await stage(page, "view")} ${await stage(page, "waiting")} ${(await hash(page)).get("view") ?? ""}`;
		if (now === before && now.includes(" false"))
			return (await stage(page, "view")).split("-").map(Number);
		before = now;
		await page.waitForTimeout(270);
	}
	throw new Error("the timeline never stood still");
}

async function show(page, words = "") {
	await page.goto(`${page.base}#/timeline${words && "?" + words}`);
	await page.waitForSelector("canvas.timeline");
	return still(page);
}

/* Where a time lies on the canvas, and the row of a lane. */
async function place(page, lane, time) {
	const [from, to] = await still(page), box = await page.locator("canvas.timeline").boundingBox();
	const top = await page.evaluate(([title, thread]) => {
		const rows = [...document.querySelectorAll(".gutter .lane")].sort((a, b) => a.offsetTop - b.offsetTop);
		const head = rows.findIndex((row) => row.textContent.includes(thread));
		const row = rows.slice(head).find((row) => row.querySelector(".what")?.textContent === title);
		return row.offsetTop + row.offsetHeight / 2 - document.querySelector(".lanes").scrollTop;
	}, lane);
	return [box.x + ((time - from) / (to - from)) * box.width, box.y + top];
}

/* --- tests ----------------------------------------------------------------------------------------------------------- */

async function search(page) {
	await page.click("nav >> text=Timeline");
	await page.waitForSelector("canvas.timeline");
	const [from, to] = await still(page);
	assert.deepEqual([from, to], [0, lanes.duration_ns], "the whole run, first");
	for (const thread of ["first", "second"])
		assert(await page.locator(`.gutter button >> text=/^. ${thread} /`).count(), `the thread ${thread} has lanes`);
	await page.keyboard.press("/");
	assert.equal(await page.evaluate(() => document.activeElement.className), "search");
	for (const name of ["compute", "inner", "rest"]) {
		await page.fill(".search", `^${name}$`);
		await until(page, (text) => document.querySelector('[data-fact="found"]').textContent === text, `1 name, ${zone(name).calls} slices`);
		const { count, slices } = await ask(`api/find?names=${nameIndex(name)}&limit=1000`);
		assert.equal(count, zone(name).calls, `slices of ${name}`);
		assert.equal(slices.reduce((sum, slice) => sum + slice.length, 0), zone(name).total_ns, `time of ${name}`);
	}
	await page.fill(".search", "no such name|a(");
	await until(page, () => document.querySelector('[data-fact="found"]').textContent === "No name matches.");
	await page.fill(".search", "^inner$");
	const { slices } = await ask(`api/find?names=${nameIndex("inner")}&limit=1000`);
	slices.sort((a, b) => a.start - b.start || a.lane - b.lane);
	const at = async (slice) => until(page, (words) => new URLSearchParams(location.hash.split("?")[1]).get("slice")?.startsWith(words), `${slice.lane}:${slice.start}:${slice.length}:`);
	await page.keyboard.press("Enter");
	await at(slices[0]);
	await page.keyboard.press("Enter");
	await at(slices[1]);
	await page.keyboard.press("Enter");
	await at(slices[2]);
	await page.keyboard.press("Shift+Enter");
	await at(slices[1]);
	await page.keyboard.press("Shift+Enter");
	await page.keyboard.press("Shift+Enter");
	await page.waitForTimeout(300);
	await at(slices[slices.length - 1]); /* around the end */
	assert.equal(await page.textContent("#details"), "inner");
	await still(page);
	assert.equal(await fact(page, "depth"), "1");
	await until(page, () => document.querySelector('[data-fact="parent"]')?.textContent.startsWith("compute, "));
	await page.fill(".search", "");
}

/* A search covers the selected range and thread: stepping visits as many slices as are counted, and no others. */
async function searchChosen(page) {
	const { slices } = await ask(`api/find?names=${nameIndex("inner")}&limit=1000`), threadOf = (slice) => lanes.lanes[slice.lane].thread;
	slices.sort((a, b) => a.start - b.start || a.lane - b.lane);
	const first = slices[Math.floor(slices.length / 3)], last = slices[Math.floor(slices.length / 2)], thread = threadOf(slices.find((slice) => threadOf(slice) !== threadOf(slices[0])));
	const among = slices.filter((slice) => threadOf(slice) === thread && slice.start + slice.length >= first.start && slice.start <= last.start);
	assert(among.length > 1 && among[0] !== slices[0]);
	const at = async (slice) => until(page, (words) => new URLSearchParams(location.hash.split("?")[1]).get("slice")?.startsWith(words), `${slice.lane}:${slice.start}:${slice.length}:`);
	await show(page, `from=${first.start}&to=${last.start}&thread=${thread}&search=%5Einner%24`);
	await until(page, (text) => document.querySelector('[data-fact="found"]').textContent === text, `1 name, ${among.length} slices`);
	await page.focus(".search");
	for (const slice of [...among, among[0]]) { /* and around the end */
		await page.keyboard.press("Enter");
		await at(slice);
	}
	for (const slice of [among[among.length - 1], among[among.length - 2]]) {
		await page.keyboard.press("Shift+Enter");
		await at(slice);
	}
}

async function keys(page) {
	const whole = await show(page);
	await page.focus("canvas.timeline");
	await page.keyboard.press("w");
	let [from, to] = await still(page);
	assert(to - from < 0.8 * (whole[1] - whole[0]) && from > whole[0] && to < whole[1], "W zooms in");
	assert.equal((await hash(page)).get("view"), `${from}-${to}`, "the window is in the URL");
	await page.keyboard.press("w");
	const inner = await still(page);
	await page.keyboard.press("d");
	const right = await still(page);
	assert(right[0] > inner[0] && Math.abs(right[1] - right[0] - (inner[1] - inner[0])) < 4, "D moves right");
	await page.keyboard.press("a");
	assert(Math.abs((await still(page))[0] - inner[0]) < 4, "A moves back");
	await page.keyboard.press("s");
	assert((await still(page))[0] < inner[0], "S zooms out");
	await page.keyboard.press("f");
	assert.deepEqual(await still(page), whole, "F fits all");
	await page.keyboard.press("?");
	await page.waitForSelector("dialog[open]");
	await accessible(page, "keys of the timeline");
	await page.keyboard.press("Escape");
	await page.waitForSelector("dialog", { state: "detached" });
	await page.keyboard.press("ArrowRight");
	await until(page, () => document.querySelector(".details"));
	const first = await page.textContent(".told");
	await page.keyboard.press("ArrowRight");
	await until(page, (before) => document.querySelector(".told").textContent !== before, first);
	const second = (await hash(page)).get("slice").split(":").map(Number);
	await page.keyboard.press("ArrowDown");
	await until(page, (lane) => Number(new URLSearchParams(location.hash.split("?")[1]).get("slice").split(":")[0]) !== lane, second[0]);
	await page.keyboard.press("Escape");
	await page.waitForSelector(".details", { state: "detached" });
}

async function pointer(page) {
	const { slices } = await ask(`api/find?names=${nameIndex("inner")}&limit=1000`);
	const thread = laneOf(1, "zones", 1), inner = slices.filter((slice) => slice.lane === thread.id)[5];
	await show(page, `view=${inner.start - 3 * inner.length}-${inner.start + 4 * inner.length}`);
	const [x, y] = await place(page, ["zones 1", "first ("], inner.start + inner.length / 2);
	await page.mouse.move(x, y);
	await page.waitForSelector(".tip");
	assert((await page.textContent(".tip")).startsWith("inner"), await page.textContent(".tip"));
	await page.mouse.click(x, y);
	await page.waitForSelector(".details");
	assert.equal(await page.textContent("#details"), "inner");
	assert((await fact(page, "lane")).startsWith("first ("));
	const parent = (await ask(`api/find?names=${nameIndex("compute")}&from=${inner.start}&to=${inner.start + inner.length}`)).slices.find((slice) => lanes.lanes[slice.lane].thread === 1);
	await until(page, () => document.querySelector('[data-fact="parent"]'));
	const share = (100 * inner.length) / parent.length;
	assert((await fact(page, "parent")).includes(`${share.toFixed(1)} %`), `${await fact(page, "parent")} is ${share} %`);
	await page.click(".details >> text=Next slice of this name");
	await until(page, (start) => !location.hash.includes(`%3A${start}%3A`), inner.start);
	await page.goBack();
	/* Ctrl and the wheel zoom where the pointer is. */
	const [from, to] = await show(page), box = await page.locator("canvas.timeline").boundingBox();
	await page.mouse.move(box.x + box.width * 0.25, box.y + 60);
	await page.keyboard.down("Control");
	for (let i = 0; i < 5; i++)
		await page.mouse.wheel(0, -120);
	await page.keyboard.up("Control");
	const near = await still(page), middle = from + 0.25 * (to - from);
	assert(near[1] - near[0] < 0.5 * (to - from), "it zooms");
	assert(Math.abs(near[0] + 0.25 * (near[1] - near[0]) - middle) < 0.01 * (to - from), "what is under the pointer stays there");
	await page.keyboard.down("Shift");
	await page.mouse.wheel(0, 200);
	await page.keyboard.up("Shift");
	assert((await still(page))[0] > near[0], "Shift and the wheel move");
	/* The small picture: its window is dragged. */
	const map = await page.locator("canvas.map").boundingBox();
	await page.mouse.click(map.x + map.width * 0.75, map.y + 15);
	const there = await still(page);
	assert(Math.abs((there[0] + there[1]) / 2 / lanes.duration_ns - 0.75) < 0.02, "a click in the small picture goes there");
}

async function range(page) {
	await show(page);
	const box = await page.locator("canvas.timeline").boundingBox(), y = box.y + 120;
	await page.mouse.move(box.x + box.width * 0.4, y);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width * 0.5, y, { steps: 4 });
	await page.mouse.move(box.x + box.width * 0.7, y, { steps: 4 });
	await page.mouse.up();
	await until(page, () => /from=\d+&to=\d+/.test(location.hash));
	const words = await hash(page), from = Number(words.get("from")), to = Number(words.get("to"));
	assert(Math.abs(from / lanes.duration_ns - 0.4) < 0.01 && Math.abs(to / lanes.duration_ns - 0.7) < 0.01, `the range ${from} to ${to}`);
	assert((await page.textContent(".chip")).includes(" to "), "the range is a chip");
	await page.click("nav >> text=Zones");
	await page.waitForSelector(".grid td >> text=compute");
	const there = report("zones", ["--from", `${from}ns`, "--to", `${to}ns`]);
	const count = (rows) => rows.find((row) => row.zone === "compute").calls;
	assert(count(there) < count(zones), "fewer than in all");
	const shown = (await cells(page, "main .grid")).find((row) => row.includes("compute"));
	assert(shown.includes(String(count(there))), `${shown} has ${count(there)}`);
	await page.goBack();
	await page.waitForSelector("canvas.timeline");
	assert.equal((await hash(page)).get("from"), String(from));
	await page.goBack();
	await until(page, () => !location.hash.includes("from="));
}

async function folding(page) {
	await show(page);
	const buttons = () => page.locator('.gutter button[aria-expanded="true"]').count(), before = await buttons();
	await page.click(".gutter .process button >> nth=0");
	await until(page, (before) => document.querySelectorAll('.gutter button[aria-expanded="true"]').length < before, before);
	assert(!(await page.locator(".gutter >> text=first (").count()), "its threads are folded, too");
	await page.click(".gutter .process button >> nth=0");
	await until(page, (before) => document.querySelectorAll('.gutter button[aria-expanded="true"]').length === before, before);
	if (!(await page.locator("header select").count()))
		return; /* one file is of all threads */
	await page.selectOption("header select", await page.$$eval("header select option", (all) => all.find((at) => at.textContent.startsWith("second ")).value));
	await until(page, () => !/first \(/.test(document.querySelector(".gutter").textContent));
	await page.goBack();
}

async function twin(page) {
	const rests = (await ask(`api/find?names=${nameIndex("rest")}&limit=1000`)).slices.sort((a, b) => a.start - b.start);
	const from = rests[20].start, to = rests[30].start;
	const inside = rests.filter((slice) => slice.start < to && slice.start + slice.length >= from);
	await show(page, `view=${from}-${to}&search=%5Erest%24`);
	await page.check("text=view as table");
	await page.waitForSelector(".grid td >> text=rest");
	const shown = (await cells(page, ".grid")), seen = await still(page);
	assert.equal(shown.reduce((sum, row) => sum + Number(row[2]), 0), inside.filter((slice) => slice.start < seen[1]).length, "slices of the table");
	assert(shown.every((row) => row[3] === "rest" && /^(first|second) \(\d+\): zones$/.test(row[4])), JSON.stringify(shown[0]));
	await accessible(page, "timeline as a table");
	/* Curves, too: what a thread used in the window is what its lane has there. */
	await page.fill(".search", "");
	await page.waitForSelector('[aria-label="Curves of the window"] td');
	const view = await still(page), cpu = lanes.lanes.find((lane) => lane.kind === "cpu" && lane.thread > 0);
	const bins = decode(await (await fetch(`${url}api/tiles?lanes=${cpu.id}&from=${view[0]}&to=${view[1]}&width=100`)).arrayBuffer()).get(cpu.id);
	const wanted = [...bins.most].filter((_, i) => bins.start[i] < view[1] && bins.start[i] + bins.length[i] > view[0]).map((most) => 100 * most);
	const { tid } = (await ask("api/recording")).threads.find((of) => of.id === cpu.thread);
	const readings = (await cells(page, '[aria-label="Curves of the window"]')).filter((row) => row[3].endsWith(`(${tid}): CPU`));
	assert(wanted.length > 0, "the thread has a curve there");
	assert.equal(readings.length, wanted.length, JSON.stringify(readings));
	wanted.forEach((most, i) => assert(Math.abs(parseFloat(readings[i][2].replace(/^.* to /, "").replace("<", "")) - most) <= 0.1, `reading ${i}: ${readings[i]} of ${most}`));
	await page.uncheck("text=view as table");
}

/* Names are text, whatever they are. */
async function hostile(browser) {
	const page = await open(browser, url);
	const evil = ['<script>document.title=1</script><img src=x onerror=alert(1)>', "a\u202eb\u0000c", '"><b class=pwned>'];
	await page.route("**/api/lanes", async (route) => {
		const response = await route.fetch(), body = await response.json();
		body.names.forEach((at, i) => (at.name = evil[i % evil.length]));
		body.lanes.forEach((at) => (at.title = evil[0]));
		await route.fulfill({ response, json: body });
	});
	page.base = url;
	await show(page);
	await page.focus("canvas.timeline");
	await page.keyboard.press("ArrowRight");
	await page.waitForSelector(".details");
	await page.check("text=view as table");
	await page.waitForSelector(".grid td");
	assert.equal(await page.locator("main script, main img, main b.pwned").count(), 0, "a name became an element");
	assert.notEqual(await page.title(), "1", "a name was run");
	assert(!/[\u202e\0]/.test(await page.textContent("main")), "what reorders text is written out");
	assert.deepEqual(page.wrong, []);
	await page.context().close();
}

/* The content of a lane, slice by slice: requests ever shorter parts of the time, until nothing is merged. */
async function columns(lane) {
	const found = new Map();
	async function part(from, to) {
		const bins = decode(await (await fetch(`${url}api/tiles?lanes=${lane.id}&from=${from}&to=${to}&width=16384`)).arrayBuffer()).get(lane.id);
		if (bins.many?.some((many) => many > 1) && to - from > 16384) {
			const middle = Math.floor((from + to) / 2);
			await part(from, middle);
			await part(middle, to);
			return;
		}
		bins.start.forEach((start, i) => found.set(start, bins.form === "curve" ? [bins.length[i], bins.least[i], bins.most[i]] : [bins.length?.[i] ?? 0, bins.name[i], bins.many[i]]));
	}
	await part(0, lanes.duration_ns);
	const rows = [...found].sort(([a], [b]) => a - b), column = (k) => rows.map(([, row]) => row[k]);
	const base = { form: lane.form, start: Float64Array.from(rows, ([start]) => start), length: Float64Array.from(column(0)) };
	return lane.form === "curve" ? { ...base, least: Float64Array.from(column(1)), most: Float64Array.from(column(2)) } : { ...base, name: Uint32Array.from(column(1)) };
}

/* The server's zone nodes end where the recording's chunks do, the page's do not: merged bins may start and end one slice
 * earlier or later, but single slices are the same, and so are the sums. */
function alike(mine, theirs, pixel, name) {
	const alone = ({ start, length, name, many }) => [...start.keys()].filter((i) => many[i] === 1 && length[i] >= pixel).map((i) => [start[i], length[i], name[i]]);
	const sum = (bins, value) => [...bins.start.keys()].reduce((sum, i) => sum + value(bins, i), 0);
	assert.deepEqual(alone(mine), alone(theirs), `${name}: slices that stand alone`);
	assert.equal(sum(mine, ({ many }, i) => many[i]), sum(theirs, ({ many }, i) => many[i]), `${name}: number of slices`);
	const covered = ({ busy, length }, i) => busy[i] * length[i];
	assert(Math.abs(sum(mine, covered) - sum(theirs, covered)) <= 1e-6 * sum(theirs, covered), `${name}: time that is covered`);
	for (const { length, many, start } of [mine, theirs])
		assert(start.every((_, i) => many[i] === 1 || length[i] < 2 * pixel), `${name}: what is put together is less than two pixels long`);
}

async function sameBins() {
	const views = [[0, lanes.duration_ns, 7], [0, lanes.duration_ns, 100], [0, lanes.duration_ns, 1000], [Math.floor(lanes.duration_ns / 3), Math.floor(lanes.duration_ns / 2), 333]];
	let compared = 0;
	for (const lane of lanes.lanes.filter((at) => at.kind !== "cpu" && at.count > 2)) {
		const held = await columns(lane), fold = new Fold(held);
		if (lane.form === "curve")
			assert(fold.count <= lane.count && fold.count >= lane.count - 2, "readings before and after the run are not asked for");
		else
			assert.equal(fold.count, lane.count, `leaves of lane ${lane.id} (${lane.kind})`);
		for (const [from, to, width] of views) {
			const theirs = decode(await (await fetch(`${url}api/tiles?lanes=${lane.id}&from=${from}&to=${to}&width=${width}`)).arrayBuffer()).get(lane.id);
			const mine = fold.bins(from, to, width), name = `lane ${lane.id} (${lane.kind}) from ${from} to ${to} in ${width}`;
			if (lane.kind !== "zones")
				assert.deepEqual(mine, theirs, name);
			else if (from === 0)
				alike(mine, theirs, (to - from) / width, name);
			compared += theirs.start.length;
		}
	}
	assert(compared > 1000, `${compared} bins`);
}

async function whole(browser, colorScheme) {
	const page = await open(browser, url, { colorScheme });
	page.base = url;
	for (const part of [search, searchChosen, keys, pointer, range, folding, twin]) {
		await part(page);
		console.log(`${colorScheme}: ${part.name}`);
	}
	await show(page);
	await accessible(page, `timeline, ${colorScheme}`);
	await shoot(page, `timeline-${colorScheme}`);
	assert.deepEqual(page.wrong, []);
	await page.context().close();
}

async function narrow(browser) {
	const page = await open(browser, url, { reducedMotion: "reduce", viewport: { width: 380, height: 700 } });
	page.base = url;
	await show(page);
	await page.keyboard.press("w");
	await still(page);
	assert((await page.evaluate(() => document.documentElement.scrollWidth)) <= 380, "the timeline fits a narrow window");
	const titles = await page.$$eval(".gutter .lane:not(.process):not(.curves)", (all) => all.map((at) => at.querySelector(".what")?.getBoundingClientRect().width ?? 0));
	assert(titles.length > 2 && titles.every((width) => width > 20), `lanes have their titles in a narrow window: ${titles}`);
	assert(await page.locator(".gutter .curves button >> text=/first \\(/").isVisible(), "a thread's name stands above its lanes");
	assert.deepEqual(page.wrong, []);
}

async function main() {
	await sameBins();
	const browser = await launch(browserPath);
	try {
		await together(...schemes.map((colorScheme) => whole(browser, colorScheme)));
		await together(narrow(browser), hostile(browser), html && inOneFile(browser));
	} finally {
		await browser.close();
	}
}

/* The report as one file has the same lanes, and draws them alike. */
async function inOneFile(browser) {
	const page = await open(browser, `file://${html}`);
	page.base = `file://${html}`;
	for (const part of [search, searchChosen, keys, folding, twin])
		await part(page);
	await show(page);
	await accessible(page, "timeline in one file");
	assert.deepEqual(page.wrong, []);
	await page.context().close();
}

await main();
