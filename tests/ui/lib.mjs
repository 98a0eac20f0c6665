/* lib.mjs: shared by the tests of the page in a browser. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const packages = createRequire(`${process.env.SONDE_UI_PACKAGES}/`);
const { chromium } = packages("playwright-core");
const axe = readFileSync(packages.resolve("axe-core/axe.min.js"), "utf8");

export function launch(executablePath) {
	return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}

/* Parts of a test that do not depend on each other, at the same time: each has a page of its own, and mostly waits. All have
 * ended when this returns or throws. */
export async function together(...parts) {
	const ended = await Promise.allSettled(parts);
	for (const { status, reason } of ended)
		if (status === "rejected")
			throw reason;
}

export const schemes = ["light", "dark"];

/* Texts of the rendered rows of a table, and of its columns. */
export const cells = (page, grid) => page.$$eval(`${grid} tbody tr:not([aria-hidden])`, (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
export const heads = (page, grid) => page.$$eval(`${grid} thead th button`, (all) => all.map((at) => at.firstChild.textContent.trim() === "≈" ? at.childNodes[1].textContent : at.firstChild.textContent));

/* The page's policy forbids the eval() that the driver's own waiting does. */
export async function until(page, holds, wanted) {
	for (let left = 1200; !(await page.evaluate(holds, wanted)); left--) {
		assert(left > 0, `never came: ${holds} with ${wanted}`);
		await page.waitForTimeout(50);
	}
}

export async function accessible(page, name) {
	await page.evaluate(axe);
	const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
	const serious = found.violations.filter((at) => at.impact === "serious" || at.impact === "critical");
	assert.deepEqual(serious.map((at) => `${at.id}: ${at.nodes.map((node) => `${node.html} ${node.failureSummary}`).slice(0, 3)}`), [], `${name} is accessible`);
}

export async function open(browser, base, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
	context.setDefaultTimeout(60000); /* a busy machine is no failure */
	const page = await context.newPage(), host = new URL(base).host;
	page.wrong = [];
	page.on("request", (request) => new URL(request.url()).host === host || page.wrong.push(`asks ${request.url()}`));
	page.on("dialog", (dialog) => { page.wrong.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
	page.on("pageerror", (error) => page.wrong.push(String(error)));
	page.on("console", (message) => message.type() === "error" && page.wrong.push(message.text()));
	await page.goto(base);
	await page.waitForSelector("main h1");
	return page;
}

/* If requested, saves a screenshot of the page. */
export async function shoot(page, name) {
	if (process.env.SONDE_UI_SHOTS)
		await page.screenshot({ path: `${process.env.SONDE_UI_SHOTS}/${name}.png`, fullPage: true });
}
