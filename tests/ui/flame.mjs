/* flame.mjs: the page Flame graph in a browser: flame.mjs SONDE CHROMIUM FILE URL REPORT.html SCRATCH. FILE: a recording of
 * tests/targets/zones_known with --threads: two threads, "first" and "second", that use CPU time below compute. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { report } from "./fixture.mjs";
import { accessible, cells, launch, open, schemes, shoot, together, until } from "./lib.mjs";
import { narrow, withTree } from "./trees.mjs";

const [sonde, browserPath, file, url, html, scratch] = process.argv.slice(2);
const tree = async (options = []) => (await report(sonde, file, "calltree", options)).sections[0];
const lead = (page) => page.textContent(".lead");
const ms = (ns) => (ns >= 999.5e6 ? `${(ns / 1e9).toFixed(2)} s` : ns >= 99.95e6 ? `${Math.round(ns / 1e6)} ms` : ns >= 9.995e6 ? `${(ns / 1e6).toFixed(1)} ms` : `${(ns / 1e6).toFixed(2)} ms`);
const hash = (page, key) => page.evaluate((key) => new URLSearchParams(location.hash.split("?")[1] ?? "").get(key) ?? "", key);
const names = (page) => page.$$eval("main .title select option", (all) => all.map((at) => at.value));

/* The metrics of stacks: those in the recording and no others, each with the figures of sonde report. */
async function weights(page) {
	await page.click("nav >> text=Flame graph");
	await page.waitForSelector("canvas");
	const told = await page.evaluate(() => fetch("api/recording").then((answer) => answer.json()));
	assert.deepEqual(await names(page), told.weights.map((weight) => weight.name).filter((name) => name !== "live"));
	assert.equal((await names(page))[0], "cpu");
	assert(!(await names(page)).includes("peak"), "no heap was recorded");
	await page.selectOption("main .title select", "waiting");
	const wanted = (await tree(["--metric", "waiting"])).nodes;
	await until(page, (frames) => document.querySelector(".lead")?.textContent.includes(`${frames} frames`), String(wanted.length - 1));
	assert((await lead(page)).includes(ms(wanted[0].total)), `${await lead(page)} is ${wanted[0].total} ns`);
	await page.goBack();
	await until(page, (text) => document.querySelector(".lead")?.textContent.includes(text), ms((await tree()).nodes[0].total));
}

/* A regular expression, with the share of the matching frames. */
async function search(page) {
	const { nodes } = await tree(), inside = nodes.map(() => false);
	let sum = 0, count = 0;
	nodes.forEach((node, i) => {
		const hit = i > 0 && /^(burn|run)$/.test(node.name), above = node.parent !== null && inside[node.parent];
		sum += hit && !above ? node.total : 0;
		count += hit ? 1 : 0;
		inside[i] = hit || above;
	});
	await page.fill(".search", "^(burn|run)$");
	const share = `${((100 * sum) / nodes[0].total).toFixed(1)} %`;
	await until(page, (words) => [...document.querySelectorAll("p.count")].some((at) => at.textContent.includes(words)), `${count} frames match, ${share} in all`);
	await page.fill(".search", "");
}

/* Which frame is zoomed is in the URL: Back leaves it, a link leads to it. */
async function zoom(page, browser) {
	const { nodes } = await tree(), burn = nodes.findIndex((node) => node.name === "burn");
	await page.focus("canvas");
	for (let deep = burn; deep > 0; deep = nodes[deep].parent)
		await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowDown");
	await until(page, (name) => document.querySelector(".told").textContent.startsWith(name), "burn");
	await page.keyboard.press("Enter");
	await page.waitForSelector('canvas[data-zoomed="burn"]');
	assert.equal(await hash(page, "zoom"), String(burn));
	const other = await open(browser, page.url());
	await other.waitForSelector('canvas[data-zoomed="burn"]');
	await other.context().close();
	await page.goBack();
	await page.waitForSelector('canvas[data-zoomed="all"]');
	await page.click("main button >> text=/^Flame$/");
	await until(page, () => location.hash.includes("view=flame"));
	await page.focus("canvas");
	await page.keyboard.press("ArrowUp");
	await page.keyboard.press("ArrowUp");
	await until(page, (name) => document.querySelector(".told").textContent.startsWith(name), nodes[1].name);
	await page.click("main button >> text=/^Icicle$/");
	await accessible(page, "flame graph");
	/* And the order of a table. */
	await page.check(".tools label:has-text(\"view as table\") input");
	await page.click(".grid thead button >> text=self");
	await page.waitForSelector('th[aria-sort="descending"]');
	const first = (await cells(page, ".grid"))[0], again = await open(browser, page.url());
	await again.waitForSelector('th[aria-sort="descending"]');
	assert.deepEqual((await cells(again, ".grid"))[0], first);
	assert.equal(first[5], nodes.reduce((most, node) => (node.self > most.self ? node : most)).name);
	await again.context().close();
	await page.uncheck(".tools label:has-text(\"view as table\") input");
}

/* One function, its callers and its callees: the figures of the section `callers`. */
async function sandwich(page) {
	await page.goto(`${url}#/flame?view=sandwich&focus=compute`);
	await page.waitForSelector("[data-half=callees] canvas");
	const rows = (await report(sonde, file, "callers", ["--focus", "compute", "-n", "200"])).sections[0].rows;
	const of = (relation) => rows.filter((row) => row.relation === relation).map((row) => [row.function, row.total_ns]).sort();
	const whole = rows.filter((row) => row.relation === "caller").reduce((sum, row) => sum + row.total_ns, 0);
	assert.equal(Number(await page.getAttribute("[data-total]", "data-total")), whole);
	await shoot(page, `sandwich-${await page.evaluate(() => document.documentElement.dataset.theme)}`);
	await accessible(page, "sandwich");
	await page.check(".tools label:has-text(\"view as table\") input");
	for (const [half, relation] of [["callers", "caller"], ["callees", "callee"]]) {
		const shown = (await cells(page, `[data-half=${half}] .grid`)).filter((row) => row[4] === "1").map((row) => [row[5], row[1]]).sort();
		assert.deepEqual(shown, of(relation).map(([name, total]) => [name, ms(total)]), half);
	}
	await page.uncheck(".tools label:has-text(\"view as table\") input");
	await page.waitForSelector("[data-half=callees] canvas");
	await page.fill("main input[list]", "burn");
	await page.keyboard.press("Enter");
	await until(page, () => document.querySelector(".lead code")?.textContent === "burn");
	/* From a frame of the graph, by the keyboard, and from the table of functions. */
	await page.goto(`${url}#/flame`);
	await page.waitForSelector("main canvas");
	await page.focus("canvas");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowDown");
	const name = (await page.textContent(".told")).split(" · ")[0];
	await page.keyboard.press("c");
	await until(page, (name) => document.querySelector(".lead code")?.textContent === name, name);
	await page.goto(`${url}#/functions?focus=compute`);
	await page.click("text=All callers and callees as flame graphs");
	await until(page, () => document.querySelector(".lead code")?.textContent === "compute");
}

/* In order of time: as many samples as the thread has, in rising order, and the same CPU time as the merged tree. */
async function chart(page) {
	const { threads } = await page.evaluate(() => fetch("api/recording").then((answer) => answer.json()));
	for (const thread of threads) {
		const stacks = await page.evaluate((id) => fetch(`api/stacks?thread=${id}`).then((answer) => answer.json()), thread.id);
		const merged = (await tree(["--thread", String(thread.tid)])).nodes[0];
		await page.goto(`${url}#/flame?view=chart&thread=${thread.id}`);
		await until(page, (count) => document.querySelector("[data-samples]")?.dataset.samples === count, String(stacks.count));
		assert(stacks.count >= merged.count && stacks.count <= merged.count + 5, `each sample of the thread (${merged.count}), and few that were taken beside the rate: ${stacks.count}`);
		assert.equal(stacks.weight_ns.reduce((sum, at) => sum + at, 0) + stacks.beside_ns, merged.total);
		assert(stacks.time_ns.every((time, i) => !i || time >= stacks.time_ns[i - 1]), "in order of time");
		await page.check(".tools label:has-text(\"view as table\") input");
		await page.waitForSelector(".grid td");
		assert.equal((await cells(page, ".grid"))[0][3], String(stacks.count));
		assert.equal((await cells(page, ".grid"))[0][1], ms(merged.total - stacks.beside_ns));
		await page.uncheck(".tools label:has-text(\"view as table\") input");
	}
	const canvas = page.locator("canvas");
	await canvas.waitFor();
	await shoot(page, `chart-${await page.evaluate(() => document.documentElement.dataset.theme)}`);
	await canvas.focus();
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowDown");
	assert.match(await page.textContent(".told"), / · from [0-9.]+ [mµ]?s, [0-9.]+ [mµ]?s long, [0-9,]+ stacks?/);
	await accessible(page, "samples in order of time");
	/* A part of the time has its samples alone. */
	const { id } = threads[0], all = await page.evaluate((id) => fetch(`api/stacks?thread=${id}`).then((answer) => answer.json()), id);
	const from = all.time_ns[10], to = all.time_ns[20];
	await page.goto(`${url}#/flame?view=chart&thread=${id}&from=${from}&to=${to}`);
	await until(page, () => document.querySelector("[data-samples]")?.dataset.samples === "10");
	assert.equal(await page.locator(".failed").count(), 0);
}

/* Frames that are too narrow to draw are counted, and the keyboard reaches each of them. */
async function tiny(browser) {
	const path = join(scratch, "narrow.html");
	withTree(html, narrow(200), path);
	const page = await open(browser, `file://${path}#/flame`);
	await page.waitForSelector("canvas");
	await until(page, () => document.querySelector("[data-narrow]")?.dataset.narrow === "400");
	await page.focus("canvas");
	for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"])
		await page.keyboard.press(key);
	await until(page, (name) => document.querySelector(".told").textContent.startsWith(name), "narrow_2 ");
	await page.waitForSelector('canvas[data-zoomed="narrow_2"]');
	await page.keyboard.press("ArrowDown");
	await until(page, (name) => document.querySelector(".told").textContent.startsWith(name), "leaf");
	assert.match(await page.textContent(".told"), /total 1\.00 µs/);
	assert.deepEqual(page.wrong, []);
	await page.context().close();
}

async function main() {
	const browser = await launch(browserPath);
	try {
		await together(...schemes.map(async (colorScheme) => {
			const page = await open(browser, url, { colorScheme });
			for (const part of [weights, search, zoom, sandwich, chart])
				await part(page, browser);
			assert.deepEqual(page.wrong, []);
			await page.context().close();
		}));
		await tiny(browser);
	} finally {
		await browser.close();
	}
}

await main();
