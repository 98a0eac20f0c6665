/* figures.mjs: figures.mjs FIGURE.mjs WRITTEN: the page's figure.ts, bundled, formats figures of every unit and names like the C
 * reports, and escapes the same characters, except for those that differ between the Unicode versions of the two. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const { clean, figure } = await import(process.argv[2]);
const written = JSON.parse(readFileSync(process.argv[3], "utf8"));
assert(written.length > 10000);

const wrong = [];
for (const [kind, value, more, text] of written) {
	if (kind === "name" || kind === "escaped")
		continue;
	const mine = figure(kind, value, more);
	if (mine !== text)
		wrong.push(`${kind} ${value} ± ${more}: '${mine}' on the page, '${text}' in reports`);
}
assert.deepEqual(wrong.slice(0, 20), [], `${wrong.length} figures of ${written.length}`);

const names = written.filter(([kind]) => kind === "name");
assert(names.length > 5);
for (const [, name, text] of names)
	assert.equal(clean(name), text);

const escaped = new Set();
for (const [kind, first, last] of written)
	for (let code = first; kind === "escaped" && code <= last; code++)
		escaped.add(code);
assert(escaped.has(0x202e) && escaped.has(0x1b) && !escaped.has(0x41) && !escaped.has(0x6f22));
const odd = [];
for (let code = 1; code < 0x110000; code++) {
	const at = String.fromCodePoint(code);
	if (code >= 0xd800 && code <= 0xdfff)
		continue;
	if ((clean(at) !== at) !== escaped.has(code))
		odd.push(code);
}
/* Both escape unassigned characters, but one of them may already know a character that the other does not: only letters
 * and symbols. */
const evil = odd.filter((code) => /[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]/u.test(String.fromCodePoint(code)));
assert.deepEqual(evil.map((code) => code.toString(16)).slice(0, 20), [], `${evil.length} characters that deceive are escaped by one alone`);
assert(odd.length <= 40000, `${odd.length} characters are escaped by one alone`);
console.log(`${written.length} figures and names, ${escaped.size} escaped characters, ${odd.length} by one alone`);
