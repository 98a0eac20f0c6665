/* timeline.mjs: measures how fast the timeline is: timeline.mjs CHROMIUM ADDRESS. ADDRESS is that of sonde view, or a
 * report as a file. Prints
 *	open MS         from the address to a complete timeline
 *	pan|zoom MEDIAN P99 FRAMES   ms per frame while the window moves: from the start of the frame until one of its
 *	                pixels has been read back, with software rendering
 *	late MEDIAN P99     ms from one frame to the next in that time
 *	heap MB         memory that the page's program holds at the end, including its arrays */
import { launch, until } from "../tests/ui/lib.mjs";

const [browserPath, address] = process.argv.slice(2);
const FRAMES = 240;
const full = () => document.querySelector(".stage")?.dataset.whole === "true";

/* Each frame the wheel turns once more: to the right and back, or in and out where the pointer is. */
async function frames(page, how) {
	return page.evaluate(async ([how, count]) => {
		const canvas = document.querySelector("canvas.timeline"), context = canvas.getContext("2d"), box = canvas.getBoundingClientRect();
		const costs = [], gaps = [], frame = () => new Promise((done) => requestAnimationFrame(() => done(performance.now())));
		let before = 0;
		for (let i = 0; i < count; i++) {
			const turn = (i % 80 < 40 ? 1 : -1), begun = frame();
			canvas.dispatchEvent(new WheelEvent("wheel", {
				bubbles: true, cancelable: true, clientX: box.left + box.width * 0.37, clientY: box.top + 50,
				...(how === "pan" ? { deltaX: turn * 25 } : { deltaY: -turn * 25, ctrlKey: true }),
			}));
			const done = frame(), start = await begun; /* between the two, the timeline draws */
			await done;
			context.getImageData(0, 0, 1, 1);
			costs.push(performance.now() - start);
			gaps.push(start - before);
			before = start;
		}
		const sorted = (all) => all.sort((a, b) => a - b);
		return [sorted(costs), sorted(gaps.slice(1))];
	}, [how, FRAMES]);
}

const browser = await launch(browserPath);
const page = await (await browser.newContext({ viewport: { width: 1280, height: 850 } })).newPage();
const begun = performance.now();
await page.goto(`${address}#/timeline`);
await until(page, full);
console.log(`open ${(performance.now() - begun).toFixed(0)}`);
const at = (all, share) => all[Math.min(all.length - 1, Math.floor(share * all.length))].toFixed(1);
const gaps = [];
for (const how of ["zoom", "pan"]) {
	await page.evaluate((share) => {
		const [from, to] = document.querySelector(".stage").dataset.view.split("-").map(Number), whole = to - from;
		location.hash = `#/timeline?view=${Math.floor(from + 0.4 * whole)}-${Math.floor(from + (0.4 + share) * whole)}`;
	}, how === "pan" ? 0.02 : 0.3);
	await page.waitForTimeout(600);
	await until(page, full);
	await until(page, () => document.querySelector(".stage").dataset.waiting === "false");
	const [costs, between] = await frames(page, how);
	console.log(`${how} ${at(costs, 0.5)} ${at(costs, 0.99)} ${costs.length}`);
	gaps.push(...between);
}
gaps.sort((a, b) => a - b);
console.log(`late ${at(gaps, 0.5)} ${at(gaps, 0.99)}`);
const session = await page.context().newCDPSession(page), usage = await session.send("Runtime.getHeapUsage");
console.log(`heap ${((usage.usedSize + (usage.embedderHeapUsedSize ?? 0) + (usage.backingStorageSize ?? 0)) / 1e6).toFixed(0)}`);
await browser.close();
