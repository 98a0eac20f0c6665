/* zones.mjs: histograms of zones in a browser: zones.mjs SONDE CHROMIUM FILE URL. FILE: of tests/targets/zones_known. Bars are
 * compared with `sonde report`, the instances of a bar with `sonde query`. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { report } from "./fixture.mjs";
import { accessible, cells, launch, open, shoot, until } from "./lib.mjs";

const [sonde, browserPath, file, url] = process.argv.slice(2);
const theme = (page) => page.evaluate(() => document.documentElement.dataset.theme);
const histogram = async (name) => (await report(sonde, file, "zone-histogram", ["-n", "48", "--focus", name])).sections;

/* Durations of all zones of a name, by another way than the report's. */
function durations(name) {
	const sql = `SELECT dur_ns FROM zones WHERE zone = '${name}'`;
	return JSON.parse(execFileSync(sonde, ["query", "-q", "-f", "json", file, sql], { encoding: "utf8" })).map((row) => row.dur_ns);
}

async function bars(page) {
	const [one, wanted] = await histogram("rest");
	await page.click("nav >> text=Zones");
	await page.waitForSelector(".grid td >> text=compute");
	await page.click(".grid a >> text=rest");
	await until(page, () => location.hash.includes("focus=rest"));
	await until(page, () => document.querySelector("#durations")?.textContent.includes("rest") && !document.querySelector(".stale"));
	assert.equal(await page.textContent('[data-figure="count"] dd'), one.rows[0].count.toLocaleString("en-US"));
	const shown = await page.$$eval(".durations-bar", (all) => all.map((at) => ({ said: at.getAttribute("aria-label"), high: at.firstChild.getBoundingClientRect().height, left: at.getBoundingClientRect().left })));
	const rows = wanted.rows.filter((row) => row.count);
	assert.deepEqual(shown.map((bar) => Number(bar.said.split(" ")[0].replaceAll(",", ""))), rows.map((row) => row.count));
	const most = Math.max(...rows.map((row) => row.count)), tallest = Math.max(...shown.map((bar) => bar.high));
	shown.forEach((bar, i) => assert(Math.abs(bar.high - Math.max(2, (tallest * rows[i].count) / most)) < 1.5, `bar ${i} is as high as it counts`));
	assert(shown.every((bar, i) => !i || bar.left > shown[i - 1].left));
	assert.equal(await page.locator(".durations-mark").count(), 3);
	await accessible(page, "zones");
	await shoot(page, `zones-${await theme(page)}`);
	return rows;
}

/* A bar shows exactly the instances that it counts, and each links to its position on the timeline. */
async function instances(page, rows) {
	const at = rows.reduce((best, row, i) => (row.count > rows[best].count ? i : best), 0), { from_ns: from, to_ns: to, count } = rows[at];
	const exact = durations("rest").filter((ns) => ns >= from && ns < to);
	assert.equal(exact.length, count, "the bar counts what the zones are");
	await page.locator(".durations-bar").nth(at).focus();
	await page.keyboard.press("Enter");
	await until(page, ([low, high]) => location.hash.includes(`view=${low}-${high}`), [from, to]);
	await page.waitForSelector("[data-instances]");
	assert.equal(await page.getAttribute("[data-instances]", "data-instances"), String(count));
	assert.equal(await page.locator(".durations-bar").nth(at).getAttribute("aria-pressed"), "true");
	const listed = await page.$$eval("#instances ~ .grid a, #instances ~ div .grid a", (all) => all.map((link) => new URLSearchParams(link.getAttribute("href").split("?")[1]).get("slice").split(":").map(Number)));
	assert(listed.length > 0 && listed.every(([, , length]) => length >= from && length < to), "all are of the bar");
	assert(listed.every(([, , length]) => exact.includes(length)), "and each is one that was recorded");
	await accessible(page, "instances");
	await shoot(page, `zones-instances-${await theme(page)}`);
	await page.click("#instances ~ .grid a, #instances ~ div .grid a");
	await until(page, () => location.hash.startsWith("#/timeline"));
	await until(page, () => document.querySelector("main").textContent.includes("rest"));
	await page.goBack();
	await page.waitForSelector("[data-instances]");
	await page.goBack();
	await until(page, () => !location.hash.includes("view="));
}

async function asTable(page) {
	const [, wanted] = await histogram("rest");
	await page.check("text=view as table");
	await page.waitForSelector('.grid[aria-label="Durations of rest"] td');
	const shown = await cells(page, '.grid[aria-label="Durations of rest"]');
	assert.deepEqual(shown.map((row) => row[2]), wanted.rows.slice(0, shown.length).map((row) => row.count.toLocaleString("en-US")));
	await accessible(page, "zones as a table");
}

const browser = await launch(browserPath);
try {
	for (const colorScheme of ["light", "dark"]) {
		const page = await open(browser, url, { colorScheme });
		const rows = await bars(page);
		await instances(page, rows);
		await asTable(page);
		assert.deepEqual(page.wrong, []);
		await page.context().close();
	}
	const narrow = await open(browser, `${url}#/zones`, { viewport: { width: 380, height: 700 } });
	await narrow.waitForSelector(".durations-bar");
	assert((await narrow.evaluate(() => document.documentElement.scrollWidth)) <= 380, "zones fit a narrow window");
} finally {
	await browser.close();
}
