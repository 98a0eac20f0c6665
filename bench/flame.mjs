/* flame.mjs: measures how long redrawing a flame graph takes: flame.mjs CHROMIUM REPORT.html SCRATCH. REPORT is any
 * report in one HTML file; its call tree is replaced by trees of 100,000 frames. Prints "bushy MEDIAN P99 ms, …" for each
 * tree: the time from the event until one of the new pixels has been read back, with software rendering. */
import { join } from "node:path";
import { bushy, dense, withTree } from "../tests/ui/trees.mjs";
import { launch, until } from "../tests/ui/lib.mjs";

const [browserPath, html, scratch] = process.argv.slice(2);
const FRAMES = 100000, ROUNDS = 60;

/* In each round, another frame is under the pointer, zoomed, or searched for, so that everything is drawn again. */
async function rounds(page, how) {
	return page.evaluate(async ([how, count]) => {
		const canvas = document.querySelector("canvas"), context = canvas.getContext("2d"), box = canvas.getBoundingClientRect(), times = [];
		const wait = () => new Promise((done) => { const channel = new MessageChannel(); channel.port1.onmessage = done; channel.port2.postMessage(0); });
		for (let i = 0; i < count; i++) {
			const at = { bubbles: true, clientX: box.left + 20 + ((i * 211) % (box.width - 40)), clientY: box.top + 25 + 20 * (i % 5) };
			const begin = performance.now();
			if (how === "point")
				canvas.dispatchEvent(new MouseEvent("mousemove", at));
			else
				canvas.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, key: i % 2 ? "Escape" : "ArrowDown" }));
			await wait();
			await wait();
			context.getImageData(0, 0, 1, 1);
			times.push(performance.now() - begin);
			await new Promise((done) => requestAnimationFrame(done));
		}
		return times.sort((a, b) => a - b);
	}, [how, ROUNDS]);
}

const browser = await launch(browserPath);
for (const [name, nodes] of [["bushy", bushy(FRAMES * 1.8)], ["dense", dense(FRAMES)]]) {
	const file = join(scratch, `${name}.html`);
	withTree(html, nodes, file);
	const page = await (await browser.newContext({ viewport: { width: 1280, height: 1000 } })).newPage();
	await page.goto(`file://${file}#/flame`);
	await page.waitForSelector("canvas");
	await until(page, () => document.querySelector("canvas").width > 0);
	for (const how of ["point", "walk"]) {
		const times = await rounds(page, how), at = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))].toFixed(1);
		console.log(`${name} ${how} ${nodes.length} ${at(0.5)} ${at(0.99)}`);
	}
	await page.context().close();
}
await browser.close();
