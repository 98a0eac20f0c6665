/* memory.mjs: the page Memory in a browser: memory.mjs SONDE CHROMIUM FILE POOLS FILE.html URL POOLS-URL. FILE: a recording of
 * tests/targets/blocks known with --heap=full: 200,000 bytes in 150 blocks at the peak, half from keeps, half from peaks. */
import assert from "node:assert/strict";
import { report } from "./fixture.mjs";
import { accessible, cells, heads, launch, open, schemes, shoot, together, until } from "./lib.mjs";

const [sonde, browserPath, file, pools, html, url, poolsUrl] = process.argv.slice(2);

/* The live bytes at a time, counted from the start, from `sonde report`. */
async function alive(path, ns, options = []) {
	const answer = await report(sonde, path, "calltree", ["--metric", "live", "--at", `${ns}ns`, ...options]);
	return answer.sections[0]?.nodes?.[0] ?? { total: 0, count: 0 };
}

const shown = (page) => page.evaluate(() => {
	const lead = document.querySelector("[data-alive]");
	return lead && !document.querySelector(".stale") ? { total: Number(lead.dataset.alive), at: Number(lead.dataset.at), text: lead.textContent } : null;
});

/* The content of the screen, once it shows another time than `before`. */
async function settled(page, before) {
	for (let left = 200; left > 0; left--) {
		const now = await shown(page), hash = await page.evaluate(() => new URLSearchParams(location.hash.split("?")[1] ?? "").get("at"));
		if (now && now.at !== before && (!hash || Number(hash) === now.at))
			return now;
		await page.waitForTimeout(50);
	}
	throw new Error("nothing was alive");
}

async function curve(page) {
	const heap = (await report(sonde, file, "heaps")).sections[0].rows.find((row) => row.kind === "malloc");
	const rows = (await report(sonde, file, "timeline", ["-n", "400", "--heap-of", "malloc"])).sections[0].rows;
	await page.click("nav >> text=Memory");
	await page.waitForSelector(".curve svg[role=slider]");
	const peak = await settled(page, -1);
	assert.equal(peak.at, heap.peak_ns);
	assert.equal(peak.total, 200000);
	assert.equal(peak.total, (await alive(file, heap.peak_ns)).total);
	assert.match(peak.text, /^200 kB in 150 blocks/);
	assert.match(await page.textContent("[data-peak]"), /^The peak: 200 kB at /);
	await shoot(page, `memory-${await page.evaluate(() => document.documentElement.dataset.theme)}`);
	await accessible(page, "memory");
	/* By the keyboard: the end of the first interval, then of the last. */
	const slider = page.locator(".curve svg[role=slider]");
	await slider.focus();
	await page.keyboard.press("Home");
	const first = await settled(page, peak.at);
	assert.equal(first.at, rows[1].from_ns - 1);
	assert.equal(first.total, rows[0].live_b);
	await page.keyboard.press("ArrowRight");
	const second = await settled(page, first.at);
	assert.equal(second.at, rows[2].from_ns - 1);
	assert.equal(second.total, rows[1].live_b);
	assert.match(await slider.getAttribute("aria-valuetext"), / to .*: at most .* at its end$/);
	await page.keyboard.press("End");
	const last = await settled(page, second.at);
	assert.equal(last.total, rows[rows.length - 1].live_b);
	assert.equal(last.total, heap.left_b);
	await page.goBack();
	assert.equal((await settled(page, last.at)).at, second.at);
	/* By a click in the middle: whatever was alive then. */
	const box = await slider.boundingBox();
	await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
	const middle = await settled(page, second.at), wanted = await alive(file, middle.at);
	assert.equal(middle.total, wanted.total);
	assert(middle.at > rows[150].from_ns && middle.at < rows[250].from_ns, `${middle.at} is in the middle`);
	await page.click("[data-peak]");
	assert.equal((await settled(page, middle.at)).total, 200000);
}

async function flame(page) {
	const nodes = (await report(sonde, file, "calltree", ["--metric", "live", "--at", `${(await shown(page)).at}ns`])).sections[0].nodes;
	await page.check(".tools label:has-text(\"view as table\") input");
	await page.waitForSelector('[aria-label="The call tree as a table"] td');
	const rows = await cells(page, '[aria-label="The call tree as a table"]');
	const of = (name) => rows.filter((row) => row[5] === name).map((row) => [row[1], row[3]]);
	assert.deepEqual(of("keeps"), [["100 kB", "100"]]);
	assert.deepEqual(of("peaks"), [["100 kB", "50"]]);
	assert.deepEqual(rows.map((row) => row[5]), nodes.map((node) => node.name || "all"));
	assert.match(await page.evaluate(() => location.hash), /view=table/);
	await page.goBack();
	await page.waitForSelector("canvas");
}

async function tables(page) {
	for (const [id, column] of [["leaks", "bytes"], ["temporary", "temporary"], ["sizes", "blocks"], ["lifetimes", "blocks"]]) {
		const sections = (await report(sonde, file, id === "lifetimes" ? "sizes" : id, ["-n", "1000"])).sections;
		const wanted = sections.find((section) => section.id === id);
		await page.waitForSelector(`[data-section=${id}] td`);
		const heads = await page.$$eval(`[data-section=${id}] thead button`, (all) => all.map((at) => at.textContent));
		const place = heads.indexOf(wanted.columns.find((at) => at.key === column).title);
		const got = (await cells(page, `[data-section=${id}]`)).map((row) => row[place]);
		assert(got.length > 1, `${id} has rows`);
		if (column === "bytes")
			assert.deepEqual(got, wanted.rows.map((row) => (row.bytes === 100000 ? "100 kB" : `${(row.bytes / 1000).toFixed(2)} kB`)));
		else
			assert.deepEqual(got, wanted.rows.slice(0, got.length).map((row) => row[column].toLocaleString("en-US")));
	}
	/* RSS over time equals the table of processes. */
	await page.waitForSelector("[data-lane] h3");
	assert.equal(await page.textContent("[data-lane] h3"), "resident memory");
	const bars = await page.$$eval("[data-section=sizes] .column", (all) => all.map((at) => Number(at.getAttribute("height"))));
	const sizes = (await report(sonde, file, "sizes")).sections[0].rows, most = Math.max(...sizes.map((row) => row.blocks));
	assert.equal(bars.length, sizes.length);
	bars.forEach((height, i) => assert(Math.abs(height - (sizes[i].blocks / most) * 110) <= 1, `bar ${i}`));
}

/* Pools can be selected and stay separate: "shared" has 1000 × 200 B at its peak. */
async function kinds(browser) {
	const page = await open(browser, poolsUrl);
	await page.click("nav >> text=Memory");
	await page.waitForSelector("[data-alive]");
	const heaps = (await report(sonde, pools, "heaps")).sections[0].rows;
	const malloc = heaps.find((row) => row.kind === "malloc");
	assert.equal((await settled(page, -1)).at, malloc.peak_ns);
	await page.selectOption("main select", "shared");
	const shared = await settled(page, malloc.peak_ns);
	assert.equal(shared.total, 200000);
	assert.match(shared.text, /in 1,000 blocks/);
	assert.equal(shared.total, (await alive(pools, shared.at, ["--heap-of", "shared"])).total);
	assert.match(await page.evaluate(() => location.hash), /heap=shared/);
	assert.deepEqual(page.wrong, []);
	await page.context().close();
}

/* The report in one file has the curve and the tables of the whole run, and says what is missing. */
async function inOneFile(browser) {
	const page = await open(browser, `file://${html}#/memory`);
	await page.waitForSelector(".curve svg[role=img]");
	const rows = (await report(sonde, file, "temporary")).sections[0].rows;
	await page.waitForSelector("[data-section=lifetimes] td");
	assert.equal((await cells(page, "[data-section=temporary]")).length, rows.length);
	/* The file has one heap over time, and says which. */
	const drawn = (await report(sonde, file, "timeline")).sections[0].title;
	assert(/: /.test(drawn));
	assert.equal(await page.textContent('[data-fact="whose"]'), drawn);
	assert(!(await heads(page, '[aria-label="The heap over time as a table"]')).includes("bar"), "what a text draws is not among the columns");
	assert.match(await page.textContent("main"), /this file has no other times: open sonde view/);
	await accessible(page, "memory in one file");
	assert.deepEqual(page.wrong, []);
	await page.context().close();
}

async function main() {
	const browser = await launch(browserPath);
	try {
		await together(...schemes.map(async (colorScheme) => {
			const page = await open(browser, url, { colorScheme });
			for (const part of [curve, flame, tables])
				await part(page);
			assert.deepEqual(page.wrong, []);
			await page.context().close();
		}));
		const narrow = await open(browser, `${url}#/memory`, { viewport: { width: 380, height: 700 } });
		await narrow.waitForSelector("[data-alive]");
		await until(narrow, () => document.documentElement.scrollWidth <= 380);
		await kinds(browser);
		await inOneFile(browser);
	} finally {
		await browser.close();
	}
}

await main();
