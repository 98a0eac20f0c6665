/* overview.mjs: curves and environment on the page Overview in a browser: overview.mjs SONDE CHROMIUM FILE URL KERNEL. FILE: a
 * recording of a shell that writes 12 MB in more than a second; KERNEL: the output of uname -r. */
import assert from "node:assert/strict";
import { query, report } from "./fixture.mjs";
import { accessible, cells, launch, open, shoot, until } from "./lib.mjs";

const [sonde, browserPath, file, url, kernel] = process.argv.slice(2);
const SIZES = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1 };

function value(text) {
	const [number, unit] = text.split(" ");
	return Number(number.replace(/,/g, "")) * (SIZES[unit] ?? NaN);
}

/* The first rows of a curve's table: the visible ones. */
async function rows(page, title) {
	const lane = page.locator("[data-lane]", { has: page.locator(`h3:text-is("${title}")`) });
	await lane.locator("summary").click();
	const id = await lane.getAttribute("data-lane");
	await page.waitForSelector(`[data-lane="${id}"] td`);
	const found = await cells(page, `[data-lane="${id}"]`);
	await lane.locator("summary").click();
	return found;
}

async function curves(page) {
	const resources = (await report(sonde, file, "resources", ["-n", "100"])).sections[0].rows;
	const memory = (await report(sonde, file, "memory", ["-n", "100"])).sections[0].rows;
	const { processes } = await page.evaluate(() => fetch("api/recording").then((answer) => answer.json()));
	const shell = processes.find((process) => /^(da)?sh$/.test(process.name));
	await page.waitForSelector('[aria-labelledby="over-time"] select');
	await page.selectOption('[aria-labelledby="over-time"] select', String(shell.id));
	const title = "written by system calls, to anywhere";
	await until(page, (title) => [...document.querySelectorAll("[data-lane] h3")].some((at) => at.textContent === title), title);
	const resident = await rows(page, "resident memory"), most = Math.max(...resident.map((row) => value(row[3])));
	const wanted = memory.find((row) => row.pid === shell.pid).rss_peak_b;
	assert(Math.abs(most - wanted) <= 0.005 * wanted, `resident: ${most} of ${wanted}`);
	/* What the rows in sight add up to is what was read at the end of the last less what was read at the start of the first. */
	const written = await rows(page, title), all = resources.find((row) => row.pid === shell.pid).written_all_b;
	const points = await query(sonde, file, `SELECT p.time_ns * 1e-9 AS at_s, p.value FROM points p JOIN series s ON s.id = p.series_id
		JOIN processes o ON o.id = s.process_id WHERE s.name = 'io.written_all' AND o.pid = ${shell.pid} ORDER BY p.time_ns`);
	const nearest = (at) => points.reduce((best, point) => Math.abs(point.at_s - at) < Math.abs(best.at_s - at) ? point : best);
	assert(written.length >= 2 && points.length >= 3, `${written.length} rows, ${points.length} readings`);
	const wanted_b = nearest(value(written.at(-1)[1])).value - nearest(value(written[0][0])).value;
	const sum = written.reduce((bytes, row) => bytes + value(row[3]) * (value(row[1]) - value(row[0])), 0);
	assert(wanted_b > 0.3 * all && wanted_b <= all, `${wanted_b} of ${all} bytes were written between readings in sight`);
	assert(Math.abs(sum - wanted_b) <= 0.03 * wanted_b, `the rows add up to ${sum} bytes, ${wanted_b} were written between these readings`);
	assert(written.every((row) => value(row[2]) <= value(row[3])), "the least is not above the most");
	assert.equal(await page.locator("[data-lane] svg[role=img]").count(), await page.locator("[data-lane]").count());
	await page.selectOption('[aria-labelledby="over-time"] select', "0");
	await until(page, () => [...document.querySelectorAll("[data-lane] h3")].some((at) => at.textContent === "available without swapping"));
	await page.selectOption('[aria-labelledby="over-time"] select', String(shell.id));
	await until(page, (title) => [...document.querySelectorAll("[data-lane] h3")].some((at) => at.textContent === title), title);
}

async function environment(page) {
	assert((await page.textContent('[aria-labelledby="environment"] p')).includes(kernel));
	await page.click('[aria-labelledby="environment"] summary');
	await page.waitForSelector('[aria-labelledby="environment"] td');
	const found = new Map(await cells(page, '[aria-labelledby="environment"]'));
	assert.equal(found.get("host.kernel"), kernel);
	assert(found.size > 5);
}

const browser = await launch(browserPath);
try {
	for (const colorScheme of ["light", "dark"]) {
		const page = await open(browser, url, { colorScheme });
		await curves(page);
		await environment(page);
		await shoot(page, `overview-${colorScheme}`);
		await accessible(page, "overview with curves");
		assert.deepEqual(page.wrong, []);
		await page.context().close();
	}
} finally {
	await browser.close();
}
