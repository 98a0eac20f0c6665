/* token.mjs: a link with a token in a browser, and the file that leads there: the page opens, the token leaves the address bar,
 * and the page works without it; another browser without the token is rejected. */
import assert from "node:assert/strict";
import { launch, open } from "./lib.mjs";

const [browserPath, url, opener] = process.argv.slice(2);
const browser = await launch(browserPath);
try {
	const page = await open(browser, url), bare = url.split("?")[0];
	assert.equal(page.url().split("#")[0], bare, "no token in the address bar");
	assert.deepEqual(page.wrong, []);
	await page.reload();
	await page.waitForSelector("main h1");
	const [cookie] = await page.context().cookies();
	assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, "Strict"]);
	const stranger = await (await browser.newContext()).newPage();
	assert.equal((await stranger.goto(bare)).status(), 401);
	const led = await (await browser.newContext()).newPage();
	await led.goto(`file://${opener}`);
	await led.waitForURL(`${bare}**`);
	await led.waitForSelector("main h1");
	assert.equal(led.url().split("#")[0], bare);
} finally {
	await browser.close();
}
