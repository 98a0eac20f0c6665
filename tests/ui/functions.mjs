/* functions.mjs: functions in a browser: functions.mjs SONDE CHROMIUM FILE URL HOT-URL CHANGED-URL. FILE: of
 * tests/targets/shares; HOT-URL: a program whose source is available; CHANGED-URL: the same, with a newer source. Compared with
 * `sonde report`. */
import assert from "node:assert/strict";
import { report } from "./fixture.mjs";
import { accessible, cells, launch, open, schemes, shoot, together, until } from "./lib.mjs";

const [sonde, browserPath, file, url, hotUrl, changedUrl] = process.argv.slice(2);
const rows = async (section, options = []) => (await report(sonde, file, section, ["-n", "100000", ...options])).sections[0].rows;
const theme = (page) => page.evaluate(() => document.documentElement.dataset.theme);
const count = (value) => (typeof value === "number" ? value.toLocaleString("en-US") : "");

async function table(page) {
	const wanted = await rows("functions");
	await page.click("nav >> text=Functions");
	await page.waitForSelector(".grid td");
	await page.click("main > div .grid thead button >> text=samples");
	await until(page, () => location.hash.includes("sort=functions"));
	const sorted = wanted.map((row) => row.samples).sort((a, b) => b - a).map(count);
	assert.deepEqual((await cells(page, "main > div .grid")).map((row) => row[4]), sorted.slice(0, (await cells(page, "main > div .grid")).length));
	await page.click("main > div .grid a >> text='beta'");
	await until(page, () => location.hash.includes("focus=beta"));
	await page.waitForSelector("#callers >> text=beta");
	const callers = await rows("callers", ["--focus", "beta"]);
	await until(page, (many) => document.querySelectorAll("section .grid tbody tr:not([aria-hidden])").length === many, callers.length);
	assert.deepEqual((await cells(page, "section .grid")).map((row) => row[4]), callers.map((row) => row.function));
	assert(!(await page.textContent("main")).includes("--focus"), "the page speaks of what can be clicked, not of options");
}

async function assembly(page) {
	const wanted = await rows("assembly", ["--focus", "beta"]);
	assert(wanted.length > 5 && wanted.some((row) => row.samples > 10), "beta has instructions");
	await page.click("text=Instructions");
	await until(page, () => location.hash.includes("view=assembly"));
	await page.waitForSelector(".code td");
	const shown = await cells(page, ".code");
	assert.equal(shown.length, wanted.length);
	shown.forEach((row, i) => assert.deepEqual([row[0], row[4], row[5]], [`0x${wanted[i].address.toString(16)}`, count(wanted[i].samples), wanted[i].instruction], `instruction ${i}`));
	const hottest = wanted.reduce((best, row, i) => ((row.self_ns ?? 0) > (wanted[best].self_ns ?? 0) ? i : best), 0);
	assert.equal(await page.locator(".code tbody tr").nth(hottest).getAttribute("class"), "hot");
	await accessible(page, "instructions");
	await shoot(page, `functions-assembly-${await theme(page)}`);
}

async function lines(page) {
	const wanted = await rows("lines", ["--focus", "beta"]);
	await page.click("text=Source lines");
	await until(page, () => location.hash.includes("view=source"));
	await until(page, (many) => document.querySelectorAll(".code tbody tr:not(.gap)").length === many, wanted.length);
	const shown = (await cells(page, ".code")).filter((row) => row.length > 1);
	shown.forEach((row, i) => assert.deepEqual([row[0], row[4]], [String(wanted[i].line), count(wanted[i].samples)], `line ${i}`));
	await accessible(page, "source lines");
	await page.goBack();
	await page.waitForSelector("text=instruction");
	await page.goBack();
	await until(page, () => !location.hash.includes("view="));
}

/* A hundred thousand rows: few of them are in the page at a time, and all can be reached. */
async function many(browser) {
	const page = await open(browser, `${url}#/overview`);
	const full = await report(sonde, file, "functions", ["-n", "1"]), [row] = full.sections[0].rows;
	full.sections[0].rows = Array.from({ length: 100000 }, (_, i) => ({ ...row, samples: i, function: `f${i}` }));
	await page.route(/api\/report\?section=functions&/, (route) => route.fulfill({ json: full }));
	await page.click("nav >> text=Functions");
	await page.waitForSelector("main > div .grid >> text=f0");
	assert(await page.locator("main > div .grid tbody tr").count() < 100, "rows out of sight are not drawn");
	await page.click("main > div .grid thead button >> text=samples");
	await page.waitForSelector("main > div .grid >> text=f99999");
	await page.evaluate(() => {
		const grid = document.querySelector("main > div .grid");
		grid.scrollTop = grid.scrollHeight;
	});
	await page.waitForSelector("main > div .grid a >> text='f0'");
	await page.fill(".search", "^f4999.$");
	await until(page, () => document.querySelector(".tools .count")?.textContent.startsWith("10 of 100,000"));
	assert.deepEqual((await cells(page, "main > div .grid")).map((at) => at[5]), Array.from({ length: 10 }, (_, i) => `f${49999 - i}`));
	assert.equal(await page.locator(".invalid").count(), 0);
	await page.fill(".search", "(f4");
	await page.waitForSelector(".invalid >> text=No regular expression (unterminated group)");
	assert.equal(await page.getAttribute(".search", "aria-invalid"), "true");
	assert.deepEqual(page.wrong, []);
	await page.context().close();
}

/* Source text is shown while it is what was compiled. */
async function source(browser) {
	const hot = await open(browser, `${hotUrl}#/functions?focus=hot&view=source`);
	await hot.waitForSelector(".code td");
	const line = (await cells(hot, ".code")).find((row) => row[5]?.includes("the hot line"));
	assert(line && line[5].startsWith("    for (unsigned long") && Number(line[4].replaceAll(",", "")) > 20, `the hot line is ${line}`);
	await shoot(hot, "functions-source-light");
	assert.deepEqual(hot.wrong, []);
	await hot.context().close();
	const changed = await open(browser, `${changedUrl}#/functions?focus=hot&view=source`);
	await changed.waitForSelector('[data-why="source"]');
	assert((await changed.textContent('[data-why="source"]')).length > 20);
	assert(!(await changed.textContent("main")).includes("the hot line"), "text of another source is shown");
	assert((await cells(changed, ".code")).some((row) => Number(row[4]?.replaceAll(",", "")) > 20), "lines keep their figures");
	assert.deepEqual(changed.wrong, []);
	await changed.context().close();
}

const browser = await launch(browserPath);
try {
	await together(...schemes.map(async (colorScheme) => {
		const page = await open(browser, url, { colorScheme });
		for (const part of [table, assembly, lines])
			await part(page);
		assert.deepEqual(page.wrong, []);
		await page.context().close();
	}));
	const narrow = await open(browser, `${url}#/functions?focus=beta&view=assembly`, { viewport: { width: 380, height: 700 } });
	await narrow.waitForSelector(".code td");
	assert((await narrow.evaluate(() => document.documentElement.scrollWidth)) <= 380, "functions fit a narrow window");
	await many(browser);
	if (hotUrl !== url)
		await source(browser);
} finally {
	await browser.close();
}
