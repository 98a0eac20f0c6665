/* compare.mjs: two recordings in a browser: compare.mjs SONDE CHROMIUM A B URL OTHER-URL. A, B: of tests/targets/shares, where
 * only A spends time in alpha; OTHER-URL: two programs with nothing in common. Figures are compared with `sonde diff`. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { report } from "./fixture.mjs";
import { accessible, cells, launch, open, schemes, shoot, together, until } from "./lib.mjs";

const [sonde, browserPath, a, b, url, otherUrl] = process.argv.slice(2);
const diff = (sections = []) => JSON.parse(execFileSync(sonde, ["diff", "-f", "json", "-n", "1000000", ...sections, a, b], { encoding: "utf8", maxBuffer: 1 << 28 }));
const section = (of, id) => of.sections.find((at) => at.id === id);
const theme = (page) => page.evaluate(() => document.documentElement.dataset.theme);

/* "62.5 ms" in ns. */
function ns(text) {
	const [number, unit] = text.split(" ");
	return Number(number.replaceAll(",", "")) * { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9 }[unit];
}

/* Figures are shown with three digits, shares with one decimal. */
const near = (shown, exact, name, slack = 1e-9) => assert(Math.abs(shown - exact) <= 0.006 * Math.abs(exact) + slack, `${name}: ${shown} is shown of ${exact}`);

async function figures(page) {
	const all = diff(), took = section(all, "diff").rows, functions = section(all, "diff-functions").rows;
	await page.click("nav >> text=Compare");
	await page.waitForSelector(".judgement");
	assert.equal(await page.getAttribute(".judgement", "data-verdict"), all.verdict);
	if (all.speedup !== null) {
		assert.equal(await page.textContent('[data-figure="speedup"]'), `${all.speedup.toFixed(3)}×`);
		const row = section(all, "diff-iterations").rows.find((at) => at.speedup === all.speedup);
		assert.equal(await page.textContent('[data-figure="interval"]'), `${row.ci95_low.toFixed(3)}× to ${row.ci95_high.toFixed(3)}×`);
	}
	for (const note of all.notes)
		assert((await page.textContent(".judgement")).includes(note.text), `it says ${note.text}`);
	const pairs = await page.$$eval('.pairs[aria-label="Times of both runs"] li', (rows) => rows.map((row) => [row.querySelector(".pair-name").textContent, row.querySelector(".pair-figures").textContent,
		...[...row.querySelectorAll(".pair-bar")].map((bar) => bar.getBoundingClientRect().width)]));
	const wall = pairs.find(([name]) => name === "wall time"), [before, after] = wall[1].split(" → ").map(ns);
	near(before, took[0].wall_ns, "wall of A");
	near(after, took[1].wall_ns, "wall of B");
	near(wall[2] / wall[3], took[0].wall_ns / took[1].wall_ns, "bars");
	const shown = await cells(page, 'section[aria-labelledby="functions"] .grid');
	assert.deepEqual(shown.map((row) => row[7]), functions.slice(0, shown.length).map((row) => row.function));
	shown.forEach((row, i) => near(parseFloat(row[0]), 100 * functions[i].share_change, `change of ${functions[i].function}`, 0.051));
	const alpha = await page.textContent('.pairs[aria-label="Shares of CPU time of both runs"] li:has(.pair-name:text("alpha")) .pair-figures');
	assert(alpha.includes("→ 0.0 %") && alpha.includes("significant"), alpha);
	await accessible(page, "compare");
	await shoot(page, `compare-${await theme(page)}`);
	await page.click('section[aria-labelledby="functions"] .grid thead button:text("candidate share")');
	await until(page, () => location.hash.includes("sort=diff-functions"));
	const sorted = (await cells(page, 'section[aria-labelledby="functions"] .grid')).map((row) => parseFloat(row[2]));
	assert(sorted.every((share, i) => !i || share <= sorted[i - 1]), `sorted by share: ${sorted}`);
}

/* The run that the pages show. */
async function runs(page) {
	await page.click("nav >> text=Functions");
	await page.waitForSelector(".grid td");
	const of = async (file) => (await report(sonde, file, "functions", ["-n", "1000"])).sections[0].rows;
	const shown = () => cells(page, "main > div .grid");
	const rows = await of(a), other = await of(b);
	assert.deepEqual((await shown()).map((row) => row[5]), rows.slice(0, (await shown()).length).map((row) => row.function));
	await page.selectOption("select.run", "b");
	await until(page, () => location.hash.includes("run=b"));
	await until(page, (samples) => document.querySelector("main .grid tbody td:nth-child(5)")?.textContent === samples, other[0].samples.toLocaleString("en-US"));
	assert.deepEqual((await shown()).map((row) => row[4]), other.slice(0, (await shown()).length).map((row) => row.samples.toLocaleString("en-US")));
	assert((await page.textContent("footer")).includes("b.sonde"));
	await page.click("nav >> text=Overview");
	await page.waitForSelector(".figures");
	assert(page.url().includes("run=b"), "another page shows the same run");
	assert((await page.textContent("h1")).includes("shares 0 20 100"));
	await page.goBack();
	await page.goBack();
	await until(page, (samples) => document.querySelector("main .grid tbody td:nth-child(5)")?.textContent === samples, rows[0].samples.toLocaleString("en-US"));
}

async function flame(page) {
	const tree = section(diff(["-s", "diff-calltree"]), "diff-calltree"), row = (name) => tree.rows.find((at) => at.function === name);
	await page.click("nav >> text=Flame difference");
	await page.waitForSelector("canvas");
	const canvas = page.locator("canvas"), box = await canvas.boundingBox();
	/* As wide as in B, alpha is not there; beta takes all of the last level. */
	const level = row("beta").level;
	await page.mouse.move(box.x + box.width / 3, box.y + level * 20 + 10);
	await page.waitForSelector(".tip");
	let tip = await page.textContent(".tip");
	assert(tip.startsWith("beta") && tip.includes("in A ") && tip.includes(": +"), tip);
	near(ns(/in B ([\d.,]+ \S+):/.exec(tip)[1]), row("beta").candidate_ns, "beta in B");
	near(ns(/in A ([\d.,]+ [^,]+),/.exec(tip)[1]), row("beta").baseline_ns, "beta in A");
	/* Orange took more: red and green over blue. */
	const colour = (x, y) => page.evaluate(([left, top]) => {
		const shown = document.querySelector("canvas"), ratio = shown.width / shown.clientWidth;
		return [...shown.getContext("2d").getImageData(Math.round(left * ratio), Math.round(top * ratio), 1, 1).data].slice(0, 3);
	}, [x, y]);
	const more = await colour(box.width * 0.6, level * 20 + 16);
	assert(more[0] > more[2] + 40, `beta took more: ${more}`);
	await page.mouse.move(5, 5);
	await accessible(page, "flame difference");
	await shoot(page, `flame-difference-${await theme(page)}`);
	await page.selectOption("main select", "only-a");
	await until(page, () => location.hash.includes("view=only-a"));
	await page.waitForSelector("[data-only]");
	assert.equal(await page.getAttribute("[data-only]", "data-only"), String(tree.rows.filter((at, i) => i && at.baseline_ns > 0 && at.candidate_ns === 0).length));
	await page.mouse.move(box.x + box.width * 0.6, (await canvas.boundingBox()).y + row("alpha").level * 20 + 10);
	await until(page, () => document.querySelector(".tip")?.textContent.startsWith("alpha"));
	const less = await colour(box.width * 0.6, row("alpha").level * 20 + 16);
	assert(less[2] > less[0] + 40, `alpha took less: ${less}`);
	await shoot(page, `flame-only-a-${await theme(page)}`);
	await page.check("text=relative");
	await until(page, () => location.hash.includes("view=relative.only-a"));
	await page.mouse.move(5, 5);
	await page.mouse.move(box.x + box.width * 0.6, (await canvas.boundingBox()).y + row("alpha").level * 20 + 10);
	await until(page, () => /in A [\d.]+ %, in B 0\.0 %/.test(document.querySelector(".tip")?.textContent ?? ""));
	tip = await page.textContent(".tip");
	near(parseFloat(/in A ([\d.]+) %/.exec(tip)[1]), 100 * row("alpha").baseline_share, "share of alpha", 0.051);
	await page.check("text=view as table");
	await page.waitForSelector(".grid td");
	const shown = await cells(page, ".grid");
	assert.deepEqual(shown.map((at) => at[9]), tree.rows.slice(0, shown.length).map((at) => at.function));
	await accessible(page, "flame difference as a table");
	await page.goBack();
	await page.goBack();
	await until(page, () => !location.hash.includes("view="));
}

async function others(browser) {
	const page = await open(browser, `${otherUrl}#/compare`);
	await page.waitForSelector(".judgement");
	const said = await page.textContent(".judgement");
	assert(said.includes("not comparable") && said.includes("different programs"), said);
	await page.goto(`${otherUrl}#/overview?run=x`);
	await page.waitForSelector(".figures");
	assert.deepEqual(page.wrong, []);
	await page.context().close();
}

const browser = await launch(browserPath);
try {
	await together(...schemes.map(async (colorScheme) => {
		const page = await open(browser, url, { colorScheme });
		for (const part of [figures, runs, flame])
			await part(page);
		assert.deepEqual(page.wrong, []);
		await page.context().close();
	}));
	const narrow = await open(browser, url, { viewport: { width: 380, height: 700 } });
	for (const place of ["compare", "flame-difference"]) {
		await narrow.goto(`${url}#/${place}`);
		await narrow.waitForSelector(place === "compare" ? ".judgement" : "canvas");
		assert((await narrow.evaluate(() => document.documentElement.scrollWidth)) <= 380, `${place} fits a narrow window`);
	}
	await others(browser);
} finally {
	await browser.close();
}
