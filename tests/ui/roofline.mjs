/* roofline.mjs: the roofline in a browser: roofline.mjs CHROMIUM FIGURES.json URL FILE-URL UNMEASURED-URL. FIGURES: `sonde
 * roofline --json` of the recording that the first two URLs show. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { accessible, cells, launch, open, schemes, shoot, together, until } from "./lib.mjs";

const [browserPath, figures, url, fileUrl, unmeasured] = process.argv.slice(2);
const { sections } = JSON.parse(readFileSync(figures, "utf8"));
const zones = sections.find(({ id }) => id === "roofline"), roofs = sections.find(({ id }) => id === "roofs");
const placed = zones.rows.filter((row) => row.flop_per_byte > 0 && row.gflop_per_s > 0);
assert(placed.length === 4 && zones.rows.length === 6 && roofs.rows.length > 4, "the program has four zones with FLOP and bytes, and two without");

/* Pixels of a power of ten, by two of the axis' own numbers. */
function axis(ticks) {
	const [[a, at], [b, bt]] = [ticks[0], ticks[ticks.length - 1]];
	return (value) => at + ((Math.log10(value) - a) / (b - a)) * (bt - at);
}

/* Positions in the picture follow from the figures. */
async function places(page) {
	await page.waitForSelector(".roofline [data-zone]");
	const seen = await page.evaluate(() => ({
		xs: [...document.querySelectorAll(".roofline [data-x]")].map((at) => [Number(at.dataset.x), Number(at.getAttribute("x"))]),
		ys: [...document.querySelectorAll(".roofline [data-y]")].map((at) => [Number(at.dataset.y), Number(at.getAttribute("y")) - 4]),
		points: [...document.querySelectorAll(".roofline [data-zone]")].map((at) => ({ zone: at.dataset.zone, said: at.getAttribute("aria-label"), x: Number(at.querySelector("circle").getAttribute("cx")), y: Number(at.querySelector("circle").getAttribute("cy")) })),
		lines: [...document.querySelectorAll(".roofline [data-ceiling]")].map((at) => ({ name: at.dataset.ceiling, rate: Number(at.dataset.rate), ...Object.fromEntries(["x1", "y1", "x2", "y2"].map((key) => [key, Number(at.querySelector("line").getAttribute(key))])) })),
	}));
	const x = axis(seen.xs), y = axis(seen.ys);
	assert.deepEqual(seen.points.map(({ zone }) => zone).sort(), placed.map((row) => row.zone).sort());
	for (const row of placed) {
		const point = seen.points.find(({ zone }) => zone === row.zone);
		assert(Math.abs(point.x - x(row.flop_per_byte)) < 0.6 && Math.abs(point.y - y(row.gflop_per_s)) < 0.6, `${row.zone} stands at ${point.x}, ${point.y}`);
		const [, rate, intensity, share] = /: ([\d.,]+) GFLOP\/s at ([\d.,]+) FLOP\/byte, ([\d.<]+) % of its roof/.exec(point.said).map((word) => Number(word.replace(/[,<]/g, "")));
		assert(Math.abs(rate - row.gflop_per_s) <= 0.0051 * Math.max(1, row.gflop_per_s) && Math.abs(intensity - row.flop_per_byte) <= 0.0051 * Math.max(1, row.flop_per_byte) && Math.abs(share - row.roof_share * 100) <= 0.051, point.said);
		assert(point.said.endsWith(`bound: ${row.bound}`));
	}
	const most = (name, key) => Math.max(...roofs.rows.filter((row) => row.of === name || row.ceiling === name).map((row) => row[key] ?? -1));
	const wanted = [["FP64", "all_threads"], ["FP32", "all_threads"], ["DRAM", "all_threads"], ["L1", "all_threads"], ["L2", "all_threads"]].filter(([name, key]) => most(name, key) > 0);
	for (const [name, key] of [...wanted, ["FP64, one thread", "one_thread"], ["DRAM, one thread", "one_thread"]]) {
		const line = seen.lines.find((at) => at.name === name), rate = most(name.split(",")[0], key);
		assert.equal(line?.rate, rate, name);
		const memory = !name.startsWith("FP"), first = seen.xs[0], last = seen.xs[seen.xs.length - 1];
		const intensity = (at) => 10 ** (first[0] + ((at - first[1]) / (last[1] - first[1])) * (last[0] - first[0]));
		for (const [px, py] of [[line.x1, line.y1], [line.x2, line.y2]])
			assert(Math.abs(py - y(memory ? rate * intensity(px) : rate)) < 0.8, `${name} goes through ${px}, ${py}`);
	}
	assert.equal(await page.getAttribute('[data-fact="without"]', "data-count"), String(zones.rows.length - placed.length));
}

/* Arrow keys and Enter select a zone, which the hash keeps; Back deselects it. */
async function keys(page) {
	await page.focus('.roofline [data-point="0"]');
	await page.keyboard.press("ArrowRight");
	await page.keyboard.press("Enter");
	const zone = placed[1].zone;
	await until(page, (zone) => location.hash.includes(`focus=${zone}`), zone);
	await page.waitForSelector("#one-zone");
	assert.equal(await page.textContent("#one-zone"), zone);
	assert.equal(await page.textContent('[data-figure="calls"] dd'), placed[1].calls.toLocaleString("en-US"));
	assert.equal(await page.getAttribute('.roofline [data-point="1"]', "aria-pressed"), "true");
	await page.goBack();
	await until(page, () => !location.hash.includes("focus=") && !document.querySelector("#one-zone"));
}

async function asTable(page) {
	await page.check("text=view as table");
	await page.waitForSelector('.grid[aria-label="Zones"] td');
	assert.deepEqual((await cells(page, '.grid[aria-label="Zones"]')).map((row) => row[0]), zones.rows.map((row) => row.zone));
	assert((await cells(page, '.grid[aria-label="Measured ceilings"]')).length > 4);
	await accessible(page, "roofline as a table");
	await page.uncheck("text=view as table");
}

async function one(browser, base, colorScheme) {
	const page = await open(browser, base, { colorScheme });
	await page.click(".pages >> text=Roofline");
	await until(page, () => {
		const link = document.querySelector(".pages [aria-current]")?.getBoundingClientRect(), box = document.querySelector(".pages").getBoundingClientRect();
		return link && link.left >= box.left - 1 && link.right <= box.right + 1;
	});
	await places(page);
	await keys(page);
	await accessible(page, "roofline");
	await shoot(page, `roofline-${colorScheme}`);
	await asTable(page);
	assert.deepEqual(page.wrong, []);
	await page.context().close();
}

const browser = await launch(browserPath);
try {
	await together(...schemes.map((colorScheme) => one(browser, url, colorScheme)), one(browser, fileUrl, "light"));
	const narrow = await open(browser, `${url}#/roofline`, { viewport: { width: 380, height: 700 } });
	await places(narrow);
	assert((await narrow.evaluate(() => document.documentElement.scrollWidth)) <= 380, "the roofline fits a narrow window");
	const without = await open(browser, unmeasured);
	await without.waitForSelector('[data-fact="unmeasured"]');
	assert((await without.textContent('[data-fact="unmeasured"]')).includes("sonde roofline --measure"));
	assert.equal(await without.locator(".pages >> text=Roofline").count(), 0, "there is no page of it");
	await without.goto(`${unmeasured}#/roofline`);
	await until(without, () => document.querySelector("h1")?.textContent === "Roofline" && document.querySelector('[data-fact="unmeasured"]'));
	assert.equal(await without.locator(".roofline svg").count(), 0);
} finally {
	await browser.close();
}
