/* roofline_devices.mjs: theoretical ceilings of GPUs in a browser: roofline_devices.mjs CHROMIUM FIGURES.json URL FILE-URL
 * UNKNOWN-URL. FIGURES: `sonde report --json --section roofline` of the recording that the first two URLs show, with two GPUs
 * that are alike; UNKNOWN: a recording of a device whose ceilings are unknown. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { accessible, cells, launch, open, schemes, shoot, together, until } from "./lib.mjs";

const [browserPath, figures, url, fileUrl, unknown] = process.argv.slice(2);
const roofs = JSON.parse(readFileSync(figures, "utf8")).sections.find(({ id }) => id === "device-roofs");
const first = roofs.rows.filter(({ device }) => device === "CUDA Stand-in <G1> 0");
assert(first.length === 4 && roofs.rows.length === 8, "two devices with four ceilings each");
const rateOf = (name) => first.find(({ ceiling }) => ceiling === name).rate;

/* Pixels of a power of ten, by two of the axis' own numbers. */
function axis(ticks) {
	const [[a, at], [b, bt]] = [ticks[0], ticks[ticks.length - 1]];
	return (value) => at + ((Math.log10(value) - a) / (b - a)) * (bt - at);
}

/* Peaks start where memory stops limiting, which ends at the highest of them. */
async function places(page) {
	await page.waitForSelector("[data-device] [data-ceiling]");
	const seen = await page.evaluate(() => ({
		devices: [...document.querySelectorAll("[data-device]")].map((at) => [at.dataset.device, at.querySelector("h2").textContent]),
		xs: [...document.querySelectorAll("[data-device] [data-x]")].map((at) => [Number(at.dataset.x), Number(at.getAttribute("x"))]),
		ys: [...document.querySelectorAll("[data-device] [data-y]")].map((at) => [Number(at.dataset.y), Number(at.getAttribute("y")) - 4]),
		lines: [...document.querySelectorAll("[data-device] [data-ceiling]")].map((at) => ({
			name: at.dataset.ceiling, rate: Number(at.dataset.rate), dashes: getComputedStyle(at.querySelector("line")).strokeDasharray,
			...Object.fromEntries(["x1", "y1", "x2", "y2"].map((key) => [key, Number(at.querySelector("line").getAttribute(key))])),
		})),
		points: document.querySelectorAll("circle").length,
	}));
	assert.deepEqual(seen.devices, [["CUDA Stand-in <G1> 0|CUDA Stand-in <G1> 1", "CUDA Stand-in <G1> 0, 1"]]);
	assert.deepEqual(seen.lines.map(({ name }) => name), ["FP32", "FP64", "FP16, tensor cores", "memory"]);
	assert.equal(seen.points, 0);
	const x = axis(seen.xs), y = axis(seen.ys), memory = rateOf("memory"), near = (a, b, what) => assert(Math.abs(a - b) < 0.8, `${what}: ${a}, not ${b}`);
	for (const line of seen.lines) {
		assert.equal(line.rate, rateOf(line.name));
		assert.notEqual(line.dashes, "none", `${line.name} looks measured`);
		if (line.name === "memory") {
			const top = rateOf("FP16, tensor cores");
			near(line.x2, x(top / memory), "where memory ends");
			near(line.y2, y(top), "where memory ends");
			near(line.y1, y((memory * 10 ** seen.xs[0][0])), "where memory begins");
		} else {
			near(line.x1, x(line.rate / memory), `where ${line.name} begins`);
			near(line.y1, y(line.rate), line.name);
			near(line.y2, y(line.rate), line.name);
		}
	}
	assert.match(await page.textContent('[data-fact="no-kernels"]'), /Kernels are not shown: .*GPU counters/);
	assert.match(await page.textContent("[data-device] .count"), /^Theoretical: FP32 66\.9 TFLOP\/s, FP64 33\.5 TFLOP\/s, FP16, tensor cores 1,071 TFLOP\/s, memory 3,352 GB\/s\.$/);
}

async function asTable(page) {
	await page.check("text=GPU ceilings as table");
	const grid = '.grid[aria-label="Theoretical GPU ceilings"]';
	await page.waitForSelector(`${grid} td`);
	assert.deepEqual((await cells(page, grid)).map((row) => row.slice(0, 2)), roofs.rows.map(({ device, ceiling }) => [device, ceiling]));
	assert.equal(await page.locator("[data-device]").count(), 0);
	await accessible(page, "ceilings of devices as a table");
	await page.uncheck("text=GPU ceilings as table");
}

async function one(browser, base, colorScheme) {
	const page = await open(browser, base, { colorScheme });
	await page.click(".pages >> text=Roofline");
	await until(page, () => document.querySelector("h1")?.textContent === "Roofline");
	await places(page);
	await accessible(page, "ceilings of devices");
	await shoot(page, `roofline-devices-${colorScheme}`);
	await asTable(page);
	assert.deepEqual(page.wrong, []);
	await page.context().close();
}

const browser = await launch(browserPath);
try {
	await together(...schemes.map((colorScheme) => one(browser, url, colorScheme)), one(browser, fileUrl, "light"));
	const narrow = await open(browser, `${url}#/roofline`, { viewport: { width: 380, height: 700 } });
	await places(narrow);
	assert((await narrow.evaluate(() => document.documentElement.scrollWidth)) <= 380, "the ceilings fit a narrow window");
	const without = await open(browser, unknown);
	await without.waitForSelector(".pages >> text=Devices");
	await without.goto(`${unknown}#/roofline`);
	await until(without, () => document.querySelector("h1")?.textContent === "Roofline" && document.querySelector("#device-roofs"));
	assert.equal(await without.locator("[data-device]").count(), 0);
	assert.match(await without.textContent(".notes"), /unavailable|no zone/);
	assert.equal(await without.locator(".pages >> text=Roofline").count(), 0, "there is no page of it");
} finally {
	await browser.close();
}
