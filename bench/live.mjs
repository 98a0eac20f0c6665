/* live.mjs: keeps a page of a live run open for SECONDS: live.mjs CHROMIUM URL SECONDS. Prints a message once the page
 * is shown. */
import { createRequire } from "node:module";

const [executablePath, url, seconds] = process.argv.slice(2);
const { chromium } = createRequire(`${process.env.SONDE_UI_PACKAGES}/`)("playwright-core");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
await page.goto(url);
await page.waitForSelector(".live .standing");
console.log("shown");
await page.waitForTimeout(Number(seconds) * 1000);
await browser.close();
