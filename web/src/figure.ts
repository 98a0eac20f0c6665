/* figure.ts: formats figures like the text report (src/export/text/figure.c): the largest unit that the value reaches, with
 * three digits. In names, characters that would reorder, hide or split text are escaped. */

export type Unit =
	| "text" | "count" | "ns" | "bytes" | "ratio" | "hz" | "factor" | "number" | "address" | "id" | "joules" | "grams";

type Step = [from: number, scale: number, name: string];

const PLAIN: Step[] = [[0, 1, ""]];
const LADDERS: Record<Unit, Step[]> = {
	text: PLAIN,
	count: PLAIN,
	number: PLAIN,
	address: PLAIN,
	id: PLAIN,
	ns: [[0, 1, " ns"], [999.5, 1e3, " µs"], [999.5e3, 1e6, " ms"], [999.5e6, 1e9, " s"], [600e9, 60e9, " min"], [36000e9, 3600e9, " h"]],
	bytes: [[0, 1, " B"], [999.5, 1e3, " kB"], [999.5e3, 1e6, " MB"], [999.5e6, 1e9, " GB"], [999.5e9, 1e12, " TB"]],
	hz: [[0, 1, " Hz"], [999.5, 1e3, " kHz"], [999.5e3, 1e6, " MHz"], [999.5e6, 1e9, " GHz"]],
	joules: [[0, 1e-6, " µJ"], [999.5e-6, 1e-3, " mJ"], [999.5e-3, 1, " J"], [999.5, 1e3, " kJ"], [999.5e3, 1e6, " MJ"]],
	grams: [[0, 1e-6, " µg"], [999.5e-6, 1e-3, " mg"], [999.5e-3, 1, " g"], [999.5, 1e3, " kg"]],
	ratio: [[0, 0.01, " %"]],
	factor: [[0, 1, "×"]],
};
const WHOLE_BASE = new Set<Unit>(["ns", "bytes", "joules", "grams"]);

/* Rounds like C's %.*f: an exact half goes to the even digit, whereas toFixed() takes the larger one. */
export function fixed(value: number, decimals: number): string {
	if (Math.abs(value) >= 1e21) /* toFixed() would write an exponent */
		return BigInt(value).toString() + (decimals ? "." + "0".repeat(decimals) : "");
	const text = value.toFixed(decimals);
	const exact = Math.abs(value).toFixed(60);
	const rest = exact.slice(exact.indexOf(".") + 1 + decimals);
	if (rest[0] !== "5" || /[1-9]/.test(rest.slice(1)))
		return text;
	const cut = exact.slice(0, exact.indexOf(".") + (decimals ? 1 + decimals : 0));
	return "02468".includes(cut[cut.length - 1] ?? "") ? (value < 0 ? "-" : "") + cut : text;
}

/* "1234567" with commas between the thousands. */
function grouped(digits: string): string {
	const [whole, part] = digits.split(".");
	return (whole ?? "").replace(/\B(?=(\d{3})+$)/g, ",") + (part === undefined ? "" : "." + part);
}

function decimalsOf(unit: Unit, step: Step, scaled: number): number {
	if (unit === "ratio")
		return 1;
	if (WHOLE_BASE.has(unit) && step === LADDERS[unit][0] && Number.isInteger(scaled))
		return 0;
	const size = Math.abs(scaled);
	return size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
}

export function figure(unit: Unit, value: number, plusMinus = 0): string {
	if (!Number.isFinite(value))
		return "–";
	if (unit === "address" && Number.isInteger(value))
		return "0x" + value.toString(16);
	if (unit === "id" && Number.isInteger(value))
		return String(value);
	const ladder = LADDERS[unit];
	let step = ladder[0]!;
	for (const at of ladder)
		if (Math.abs(value) >= at[0])
			step = at;
	const scaled = value / step[1];
	let decimals = decimalsOf(unit, step, scaled);
	if ((unit === "count" || unit === "number") && Number.isInteger(scaled) && !(plusMinus > 0))
		decimals = 0;
	let text = unit === "ratio" && scaled > 0 && scaled < 0.05 && !(plusMinus > 0) ? "<0.1" : grouped(fixed(scaled, decimals));
	if (plusMinus > 0 && Number.isFinite(plusMinus))
		text += " ±" + grouped(fixed(plusMinus / step[1], decimals));
	return text + step[2];
}

/* Including unassigned characters: their appearance is unknown. */
const DECEIVES = /[\0-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\uffff\p{Cn}]|[\u{e0000}-\u{e007f}]/gu;
const LONGEST = 8192; /* characters */

export function clean(text: string): string {
	const all = text.length > LONGEST ? Array.from(text) : [], longer = all.length > LONGEST;
	const written = (longer ? all.slice(0, LONGEST).join("") : text).replace(DECEIVES, (at) => {
		const code = at.codePointAt(0) ?? 0;
		if (at === "\n" || at === "\t" || at === "\r")
			return at === "\n" ? "\\n" : at === "\t" ? "\\t" : "\\r";
		return code < 0x80 ? "\\x" + code.toString(16).padStart(2, "0") : "\\u{" + code.toString(16) + "}";
	});
	return written + (longer ? "…" : "");
}

/* A search pattern: a regular expression or, if it is not a valid one, the literal words. */
export function matcher(words: string): RegExp | null {
	if (!words)
		return null;
	try {
		return new RegExp(words, "i");
	} catch {
		return new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
	}
}

/* Why a pattern is not a valid regular expression: "Unterminated group"; "" if it is valid. */
export function invalid(words: string): string {
	try {
		new RegExp(words, "i");
		return "";
	} catch (error) {
		const said = error instanceof Error ? error.message : "";
		return clean(said.slice(said.lastIndexOf(": ") + 1).trim().toLowerCase()) || "it cannot be read";
	}
}

/* A pattern that matches exactly one name. */
export function only(name: string): string {
	return "^" + name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$";
}
