/* ui.mjs: the page in a browser: ui.mjs SONDE CHROMIUM PAGE FILE HOSTILE [URL HOSTILE-URL]. The screen is compared with `sonde
 * report` of the same recording: in Markdown, which has figures as people read them, and in JSON. FILE: a recording with samples
 * and zones of two threads; HOSTILE: one of a program whose name is markup. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { report, serve } from "./fixture.mjs";
import { accessible, cells, heads, launch, open, schemes, together, until } from "./lib.mjs";

const [sonde, browserPath, pagePath, file, hostile, url, hostileUrl] = process.argv.slice(2);

/* The tables of a report in Markdown: rows of cells. */
function printed(sections, rows) {
	const text = execFileSync(sonde, ["report", "-q", "-f", "md", "-n", String(rows), "--section", sections, "-o", "-", file], { encoding: "utf8" });
	return text.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| -"))
		.map((line) => line.slice(2, -2).split(" | ").map((cell) => cell.replace(/\\(.)/g, "$1").trim()));
}

/* Every shown row is the printed one, in the columns that are shown. */
async function same(page, grid, wanted, name) {
	const shown = await cells(page, grid), head = await heads(page, grid);
	const places = head.map((title, i) => wanted[0].findIndex((other, k) => other === title && k >= i));
	assert(!places.includes(-1), `${name}: columns ${head} are not among ${wanted[0]}`);
	assert(shown.length > 0 && shown.length === wanted.length - 1, `${name}: ${shown.length} rows are shown of ${wanted.length - 1}`);
	shown.forEach((row, r) => assert.deepEqual(row, places.map((at) => wanted[r + 1][at]), `${name}: row ${r}`));
}

async function overview(page) {
	const summary = (await report(sonde, file, "summary")).sections[0].rows;
	const of = (metric) => summary.find((row) => row.metric === metric).value;
	await page.waitForSelector(".figures");
	const tile = (metric) => page.textContent(`.figures [data-metric="${metric}"] dd`);
	const wall = of("timing.wall_time_s"), shown = await tile("timing.wall_time_s");
	const [number, unit] = shown.split(" ");
	assert(Math.abs(Number(number) * { s: 1, ms: 1e-3 }[unit] - wall) <= 0.006 * wall, `wall time ${shown} is ${wall} s`);
	assert.equal(await tile("samples.count"), of("samples.count").toLocaleString("en-US"));
	assert.equal(await tile("zones.count"), of("zones.count").toLocaleString("en-US"));
	assert.equal(await tile("run.threads"), String(of("run.threads")));
	assert.equal(await page.textContent('b[data-metric="cost.recorder_percent"]'), `${of("cost.recorder_percent").toFixed(1)} %`);
	await page.waitForSelector('[aria-labelledby="findings"] > div'); /* before that, it waits */
	const findings = (await report(sonde, file, "findings", ["-n", "50"])).sections[0]?.rows ?? [];
	assert.equal(await page.locator(".card").count(), findings.length);
	for (const [i, row] of findings.entries()) {
		const card = await page.locator(".card").nth(i).innerText();
		for (const part of [row.title, row.subject, row.evidence.split("; ")[0], row.steps.split("; ")[0]])
			assert(card.includes(part), `finding ${i} says '${part}'`);
	}
	const missing = await page.textContent(".missing");
	assert(missing.includes("sonde record --heap") && missing.includes("sonde record --energy") && !missing.includes("--threads"), "what was not recorded");
	await accessible(page, "overview");
}

async function functions(page) {
	await page.click("nav >> text=Functions");
	await page.waitForSelector(".grid td");
	const wanted = printed("functions", 100000);
	await page.fill(".search", "burn|libc");
	await until(page, () => /^\d+ of/.test(document.querySelector(".tools .count")?.textContent ?? ""));
	const some = [wanted[0], ...wanted.slice(1).filter((row) => row.some((cell) => /burn|libc/i.test(cell)))];
	assert(some.length > 2);
	await same(page, "main > div .grid", some.slice(0, 1 + (await cells(page, "main > div .grid")).length), "functions");
	await page.fill(".search", "");
	await page.click("main > div .grid thead button >> nth=1");
	await page.waitForSelector('th[aria-sort="descending"]');
	const totals = (await cells(page, "main > div .grid")).map((row) => parseFloat(row[1].replace("<", "")));
	assert(totals.every((total, i) => !i || total <= totals[i - 1]), "sorted by total");
	await accessible(page, "functions");
	await page.click("main > div .grid a >> text='burn'");
	await until(page, () => location.hash.includes("focus=burn"));
	await until(page, () => document.querySelector("#callers")?.textContent.includes("burn"));
	const focused = (await report(sonde, file, "callers", ["--focus", "burn", "-n", "200"])).sections[0].rows;
	await until(page, (count) => document.querySelectorAll("section .grid tbody tr").length === count, focused.length);
	assert.deepEqual((await cells(page, "section .grid")).map((row) => row[4]), focused.map((row) => row.function));
	await page.goBack();
	await until(page, () => !location.hash.includes("focus="));
	await until(page, () => document.querySelector("#callers")?.textContent.includes("hottest"));
}

async function flame(page) {
	const tree = (await report(sonde, file, "calltree", ["-n", "1000000"])).sections[0];
	await page.click("nav >> text=Flame graph");
	await page.waitForSelector("canvas");
	const lead = await page.textContent(".lead");
	assert(lead.includes(`${(tree.nodes.length - 1).toLocaleString("en-US")} frames`), lead);
	await page.fill(".search", "^burn$");
	const burns = tree.nodes.filter((node) => node.name === "burn").length;
	await until(page, (count) => [...document.querySelectorAll("p.count")].some((at) => at.textContent.startsWith(`${count} frame`)), burns);
	await page.fill(".search", "");
	const first = tree.nodes.findIndex((node) => node.parent === 0);
	const canvas = page.locator("canvas"), box = await canvas.boundingBox();
	await page.mouse.move(box.x + 20, box.y + 30);
	await page.waitForSelector(".tip");
	const tip = await page.textContent(".tip");
	assert(tip.includes(tree.nodes[first].name) && tip.includes("total"), `the tip says ${tip}`);
	await page.mouse.click(box.x + 20, box.y + 30);
	await page.waitForSelector(`canvas[data-zoomed="${tree.nodes[first].name}"]`);
	await page.mouse.move(5, 5);
	await canvas.focus();
	await page.keyboard.press("Escape");
	await page.waitForSelector('canvas[data-zoomed="all"]');
	await page.keyboard.press("ArrowDown");
	await until(page, (name) => document.querySelector(".told").textContent.startsWith(name), tree.nodes[first].name);
	await page.keyboard.press("Enter");
	await page.waitForSelector(`canvas[data-zoomed="${tree.nodes[first].name}"]`);
	await accessible(page, "flame");
	await page.check("text=view as table");
	const shown = await cells(page, ".grid");
	assert(shown.length > 10);
	shown.forEach((row, i) => assert.equal(row[5], tree.nodes[i].name || "all", `frame ${i} of the table`));
	shown.forEach((row, i) => assert.equal(row[3], tree.nodes[i].count.toLocaleString("en-US"), `count ${i} of the table`));
	await accessible(page, "flame as a table");
}

async function zones(page) {
	await page.click("nav >> text=Zones");
	await page.waitForSelector(".grid td >> text=compute");
	await same(page, ".grid", printed("zones", 1000), "zones");
	await accessible(page, "zones");
}

async function rest(page) {
	const { sections } = await page.evaluate(() => fetch("api/recording").then((answer) => answer.json()));
	await page.click("summary");
	const links = await page.$$eval(".more a", (all) => all.map((at) => at.getAttribute("href")));
	for (const section of sections.filter((name) => !["functions", "callers", "lines", "assembly", "calltree", "zones", "zone-histogram", "memory", "leaks", "sizes", "temporary", "timeline"].includes(name)))
		assert(links.includes(`#/section?section=${section}`), `${section} is in the menu`);
	await page.click(".more >> text=Summary");
	await page.waitForSelector(".grid td >> text=timing.wall_time_s");
	await same(page, ".grid", printed("summary", 1000), "summary");
	await page.goBack();
	await page.waitForSelector("h1 >> text=Zones");
	const first = await page.$$eval("header select option", (all) => all.find((at) => at.textContent.startsWith("first ")).value);
	await page.selectOption("header select", first);
	await until(page, () => location.hash.includes("thread="));
	await until(page, () => document.querySelector(".grid td:nth-child(2)")?.textContent !== "90" && !document.querySelector(".stale"));
	assert.deepEqual((await cells(page, ".grid")).map((row) => row[1]), ["60", "60", "60"]);
	/* With a thread selected, figures about all threads are marked as such. */
	await page.click("nav >> text=Overview");
	await page.waitForSelector('[data-fact="judged-over"]');
	const cards = await page.$$eval(".card", (all) => all.map((at) => [at.textContent.includes("of the critical path"), !!at.querySelector('[data-fact="of-all"]')]));
	assert(cards.every(([path, says]) => !path || says), "what rests on the critical path is of all threads");
	/* That no zone is in what is chosen is nothing to be warned of. */
	await page.goto(`${page.url().split("#")[0]}#/zones?from=0&to=1000&focus=compute`);
	await page.waitForSelector('[data-fact="none-of-it"]');
	assert.equal(await page.locator("main .warning").count(), 0, "no zones here is no warning");
}

async function strange(browser, base) {
	const page = await open(browser, base);
	const name = hostile.replace(/^.*\//, "").replace(/\.sonde$/, "");
	assert((await page.textContent("h1")).includes(name), "the name is text");
	/* Titles contain names; text that is not visible is read aloud. */
	await page.route("**/api/report?*", async (route) => {
		const response = await route.fetch(), body = await response.json();
		body.sections.forEach((section) => (section.title += " of a\u202eb\u0000c"));
		await route.fulfill({ response, json: body });
	});
	await page.goto(`${base}#/functions`);
	await page.waitForSelector("section .grid td");
	assert.equal((await page.$$eval(".grid", (all) => all.map((at) => at.getAttribute("aria-label")))).filter((label) => label.includes("a\\u{202e}b\\x00c")).length, 2, "titles say what would deceive");
	await page.goto(`${base}#/functions?view=source`);
	await page.waitForSelector("section .code");
	assert(!(await page.evaluate(() => /[\u202e\0]/.test(document.body.outerHTML))), "no attribute has what reorders text");
	await page.goto(`${base}#/flame`);
	await page.waitForSelector("canvas");
	await page.hover("canvas", { position: { x: 20, y: 30 } });
	await page.waitForSelector(".tip");
	assert.equal(await page.locator("main script, main img, main b.pwned").count(), 0, "a name became an element");
	assert.notEqual(await page.title(), "1", "a name was run");
	assert.deepEqual(page.wrong, []);
}

/* The menu takes one line at any width, with a time range and all that the head can hold; the entry of the current page
 * is visible. */
async function oneLine(browser, base) {
	for (const width of [1400, 1024, 768, 380]) {
		const page = await open(browser, `${base}#/zones?from=1000000&to=100000000`, { viewport: { width, height: 700 } });
		await page.waitForSelector(".chip");
		const { nav, head, here, wide } = await page.evaluate(() => {
			const link = document.querySelector(".pages [aria-current]").getBoundingClientRect(), box = document.querySelector(".pages").getBoundingClientRect();
			return { nav: document.querySelector("nav").offsetHeight, head: document.querySelector("header").offsetHeight, here: link.left >= box.left - 1 && link.right <= box.right + 1, wide: document.documentElement.scrollWidth };
		});
		assert(nav < 40 && (width < 700 || head < 60), `at ${width} the menu has ${nav} px, the head ${head}`);
		assert(here, `at ${width} the page that is shown is in sight in the menu`);
		assert(wide <= width, `at ${width} the page has ${wide}`);
		await page.context().close();
	}
}

/* The report in one file: the same figures without any request; it says what it cannot answer. */
async function inOneFile(browser, path) {
	const page = await open(browser, `file://${path}`);
	await overview(page);
	await flame(page);
	await page.goto(`file://${path}#/functions?focus=burn`);
	await until(page, () => /holds only the whole run.*sonde view/.test(document.body.textContent));
	await page.goto(`file://${path}#/zones`);
	await page.waitForSelector(".durations-bar");
	const counted = await page.$$eval(".durations-bar", (bars) => bars.reduce((sum, bar) => sum + Number(bar.title.split(" ")[0].replaceAll(",", "")), 0));
	assert.equal(String(counted), (await page.textContent("[data-figure=count] dd")).replaceAll(",", ""), "bars count every instance");
	assert((await page.evaluate(() => document.documentElement.scrollWidth)) <= 1280, "percentiles stand among the bars");
	await page.click(".durations-bar >> nth=0");
	await page.waitForSelector("[data-instances]");
	assert.equal(await page.getAttribute("[data-instances]", "data-instances"), (await page.getAttribute(".durations-bar", "title")).split(" ")[0], "a bar has its instances, here too");
	/* Selecting a part of the time works only on the timeline; tables are of the whole run, and say so. */
	await page.goto(`file://${path}#/zones?from=1000000&to=2000000`);
	await page.waitForSelector('[data-fact="whole-run"] >> text=sonde view');
	await page.waitForSelector(".grid td >> text=compute");
	await same(page, ".grid", printed("zones", 1000), "zones of the whole run");
	await page.click('[data-fact="whole-run"] a');
	await until(page, () => location.hash.startsWith("#/timeline?from=1000000&to=2000000") && !document.querySelector('[data-fact="whole-run"]'));
	assert.deepEqual(page.wrong, []);
	await page.context().close();
}

async function main() {
	const one = url ? { url, close() {} } : await serve(sonde, file, pagePath);
	const two = hostileUrl ? { url: hostileUrl, close() {} } : await serve(sonde, hostile, pagePath);
	const browser = await launch(browserPath);
	try {
		await together(...schemes.map(async (colorScheme) => {
			const page = await open(browser, one.url, { colorScheme });
			for (const part of [overview, functions, flame, zones, rest])
				await part(page);
			assert.deepEqual(page.wrong, []);
			await page.context().close();
		}));
		const narrow = await open(browser, one.url, { viewport: { width: 380, height: 700 } });
		for (const place of ["overview", "functions", "flame", "zones"]) {
			await narrow.goto(`${one.url}#/${place}`);
			await narrow.waitForTimeout(300);
			assert((await narrow.evaluate(() => document.documentElement.scrollWidth)) <= 380, `${place} fits a narrow window`);
		}
		await oneLine(browser, one.url);
		await strange(browser, two.url);
		await inOneFile(browser, process.env.SONDE_UI_FILE);
	} finally {
		await browser.close();
		one.close();
		two.close();
	}
}

await main();
