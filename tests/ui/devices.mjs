/* devices.mjs: GPU work in a browser: devices.mjs CHROMIUM FIGURES.json URL FILE-URL LIMITS-URL WITHOUT-URL ASKED-URL
 * ASKED.json. FIGURES: sections of the recording of tests/targets/device_told that the first two URLs show; LIMITS: a recording
 * of a device whose limits are known; WITHOUT: one without GPU work; ASKED: one at level full, with its section launch-stacks;
 * "-": not available. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { accessible, cells, heads, launch, open, schemes, shoot, together, until } from "./lib.mjs";

const [browserPath, figures, url, fileUrl, limits, without, asked, askers] = process.argv.slice(2);
const { sections } = JSON.parse(readFileSync(figures, "utf8")), rowsOf = (id) => sections.find((at) => at.id === id).rows;
const grid = (label) => `.grid[aria-label="${label}"]`, alpha = "alpha(float*, int)";
assert.deepEqual(rowsOf("kernels").map((row) => [row.kernel, row.calls]), [[alpha, 10], ["beta", 1]], "it is the program with known times");

/* A row as {head: text}. */
async function table(page, label) {
	await page.waitForSelector(`${grid(label)} td`);
	const names = await heads(page, grid(label)), rows = await cells(page, grid(label));
	return rows.map((row) => Object.fromEntries(row.map((cell, i) => [names[i], cell])));
}

const pick = (row, ...keys) => keys.map((key) => row[key]);

/* Every figure is a known figure of the program. */
async function tables(page) {
	const [device] = await table(page, "Activity");
	assert.deepEqual(pick(device, "device", "kernels", "copies", "copied", "at once", "queues"), ["Own toy <b> 0", "80.0 ms", "2.00 ms", "4.00 MB", "1.28", "2"]);
	assert.deepEqual((await table(page, "Queues")).map((row) => pick(row, "queue", "activities", "gaps", "in gaps", "with others")),
		[["first", "11", "10", "44.0 ms", "34.6 %"], ["queue 8", "1", "0", "0 ns", "60.0 %"]]);
	const kernels = await table(page, "Kernels");
	assert.deepEqual(kernels.map((row) => pick(row, "kernel", "total", "calls", "mean", "mean delay", "of kernels")),
		[[alpha, "50.0 ms", "10", "5.00 ms", "1.00 ms", "62.5 %"], ["beta", "30.0 ms", "1", "30.0 ms", "1.00 ms", "37.5 %"]]);
	assert.deepEqual((await table(page, "Copies")).map((row) => pick(row, "copies", "bytes", "bytes/s", "from", "to")), [["1", "4.00 MB", "2.00 GB", "pageable", "device"]]);
	assert.equal((await table(page, "Gaps: when a GPU was idle"))[0].gap, "17.0 ms");
	const bars = await page.$$eval(`${grid("Kernels")} .bar`, (all) => all.map((at) => at.style.width));
	assert.deepEqual(bars, ["62.5%", "37.5%"], "a share is a bar, too");
}

/* A click on a column sorts, and the hash keeps it. */
async function sorting(page) {
	const button = `${grid("Kernels")} thead button:has-text("longest")`;
	await page.click(button);
	await until(page, () => location.hash.includes("sort=kernels%3Amax_ns"));
	assert.deepEqual((await table(page, "Kernels")).map((row) => row.kernel), ["beta", alpha]);
	await page.click(button);
	await until(page, () => location.hash.includes("sort=kernels%3A-max_ns"));
	assert.deepEqual((await table(page, "Kernels")).map((row) => row.kernel), [alpha, "beta"]);
}

/* A kernel that is clicked has its figures, its launches, and instances that are links to their slices. */
async function kernel(page) {
	await page.click(`${grid("Kernels")} >> text=beta`);
	await until(page, () => location.hash.includes("focus=beta") && document.querySelector("#one-kernel")?.textContent === "beta");
	await page.waitForSelector('[data-instances="1"]');
	await page.goBack();
	await until(page, (alpha) => document.querySelector("#one-kernel")?.textContent === alpha, alpha);
	assert.equal(await page.textContent('[data-figure="calls"] dd'), "10");
	assert.equal(await page.getAttribute('[data-figure="occupancy"]', "title"), "the GPU's limits are unknown");
	const [one, ...more] = await table(page, `Launch configurations of ${alpha}`);
	assert.deepEqual(pick(one, "calls", "blocks", "threads", "registers", "mean delay"), ["10", "64", "256", "32", "1.00 ms"]);
	assert.equal(more.length, 0);
	await page.waitForSelector('[data-instances="10"]');
	const instances = await table(page, `Instances of ${alpha}`);
	assert(instances.every((row) => row.duration === "5.00 ms" && row.queue === "first of Own toy <b> 0"), JSON.stringify(instances));
	await page.click(`${grid(`Instances of ${alpha}`)} tbody a`);
	await page.waitForSelector(".details");
}

/* The slice that was clicked: how long it waited, and how it was launched. */
async function slice(page, launched, occupancy) {
	await page.waitForSelector('[data-fact="queue-delay"]');
	await page.waitForSelector('[data-fact="launch"]');
	const fact = (name) => page.textContent(`[data-fact="${name}"]`);
	assert.equal(await page.textContent("#details"), alpha);
	assert.equal(await fact("duration"), "5.00 ms");
	assert.equal(await fact("queue-delay"), "1.00 ms before it started");
	assert.equal(await fact("launch"), launched);
	assert.equal(await fact("occupancy"), occupancy);
	assert.match(await page.$eval('[data-fact="occupancy"]', (at) => at.previousSibling.textContent), /^theoretical/);
	await page.click(".details >> text=Show in devices");
	await until(page, (alpha) => document.querySelector("#one-kernel")?.textContent === alpha, alpha);
}

/* Everything can be reached by keys: the name in the table is a link that takes the focus. */
async function keys(page) {
	await page.focus(`${grid("Kernels")} tbody a`);
	await page.keyboard.press("Tab");
	await page.keyboard.press("Enter");
	await until(page, () => document.querySelector("#one-kernel")?.textContent === "beta");
	await page.focus(`${grid("Gaps: when a GPU was idle")} tbody a`);
	await page.keyboard.press("Enter");
	await until(page, () => location.hash.startsWith("#/timeline") && location.hash.includes("view="));
	await page.goBack();
	await until(page, () => document.querySelector("#one-kernel"));
}

async function one(browser, base, colorScheme) {
	const page = await open(browser, base, { colorScheme });
	await page.click(".pages >> text=Devices");
	await tables(page);
	await accessible(page, "devices");
	await shoot(page, `devices-${colorScheme}`);
	await sorting(page);
	await kernel(page);
	await shoot(page, `devices-slice-${colorScheme}`);
	await slice(page, "64 blocks of 256 threads, 32 registers per thread", "unknown: the GPU's limits are unknown");
	await keys(page);
	assert.deepEqual(page.wrong, []);
	await page.context().close();
}

const browser = await launch(browserPath);
try {
	await together(...schemes.map((colorScheme) => one(browser, url, colorScheme)), one(browser, fileUrl, "light"));
	const narrow = await open(browser, `${url}#/devices`, { viewport: { width: 380, height: 700 } });
	await table(narrow, "Kernels");
	assert((await narrow.evaluate(() => document.documentElement.scrollWidth)) <= 380, "the page fits a narrow window");
	if (limits !== "-") {
		const known = await open(browser, `${limits}#/devices`);
		const [row] = await table(known, `Launch configurations of ${alpha}`);
		assert.deepEqual(pick(row, "blocks", "threads", "registers", "theoretical occupancy", "limited by"), ["64 × 2", "256", "40", "75.0 %", "registers"]);
		await known.click(`${grid(`Instances of ${alpha}`)} tbody a`);
		await slice(known, "64 × 2 blocks of 256 threads, 40 registers per thread, 3.07 kB shared", "75.0 %, limited by registers");
		assert.deepEqual(known.wrong, []);
	}
	if (asked !== "-") {
		const said = JSON.parse(readFileSync(askers, "utf8")), page = await open(browser, `${asked}#/devices`), label = "Call sites of kernels, copies and allocations";
		assert(said.length > 0 && said[0].launched_in, "it is known who asked");
		const shown = await table(page, label);
		assert.deepEqual(shown.map((row) => [row.operation, row["call site"]]), said.slice(0, shown.length).map((row) => [row.operation, row.launched_in ?? "–"]));
		await page.click(`${grid(label)} tbody tr:first-of-type td a >> text="${said[0].launched_in}"`);
		await until(page, (name) => location.hash.startsWith("#/functions") && location.hash.includes(`focus=${name}`), said[0].launched_in);
		assert.deepEqual(page.wrong, []);
	}
	const none = await open(browser, without);
	assert.equal(await none.locator(".pages >> text=Devices").count(), 0, "there is no page of it");
	assert.equal(await none.locator('.more >> text="Kernels"').count(), 0, "nor a section in the menu");
	await none.goto(`${without}#/devices`);
	await none.waitForSelector('[data-fact="no-device-work"]');
} finally {
	await browser.close();
}
