/* palette.ts: the colours of src/export/plot/palette.c: a module's name determines the hue on the OKLCH circle, and a
 * function's name the shade. */
const HUES = 36, SHADES = 3, GREY = HUES, APART = 7;
const MASK = (1n << 64n) - 1n;

function hash(name: string): bigint {
	let sum = 0xcbf29ce484222325n;
	for (const byte of new TextEncoder().encode(name))
		sum = ((sum ^ BigInt(byte)) * 0x100000001b3n) & MASK;
	sum = ((sum ^ (sum >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
	sum = ((sum ^ (sum >> 27n)) * 0x94d049bb133111ebn) & MASK;
	return sum ^ (sum >> 31n);
}

function fill(hue: number, shade: number, dark: boolean): string {
	const lightness = (dark ? 0.43 : 0.85) + (shade - 1) * (dark ? 0.025 : 0.022);
	const chroma = hue === GREY ? 0.004 : dark ? 0.062 : 0.072;
	const angle = (((hue * 360) / HUES + 25) * Math.PI) / 180;
	const a = chroma * Math.cos(angle), b = chroma * Math.sin(angle);
	const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
	const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
	const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
	const byte = (linear: number) => {
		const at = linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055;
		return Math.round(Math.min(1, Math.max(0, at)) * 255);
	};
	const red = byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s);
	const green = byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s);
	const blue = byte(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s);
	return `rgb(${red},${green},${blue})`;
}

function near(one: number, other: number): boolean {
	const apart = Math.abs(one - other);
	return apart <= 2 || apart >= HUES - 2;
}

/* Assigns hues to modules, ordered by self time: if two of the largest would look alike, the smaller one gets another
 * hue. */
function hues(modules: [name: string, self: number][]): Map<string, number> {
	const found: number[] = [];
	for (const [name] of modules) {
		let hue = name ? Number(hash(name) % BigInt(HUES)) : GREY;
		if (hue !== GREY && found.length < APART)
			for (let tries = 0; tries < HUES && found.some((other) => other !== GREY && near(hue, other)); tries++)
				hue = (hue + 5) % HUES;
		found.push(hue);
	}
	return new Map(modules.map(([name], i) => [name, found[i]!]));
}

/* `modules`: those with the most self time first. */
export function palette(modules: [name: string, self: number][]): (module: string, name: string, dark: boolean) => string {
	const of = hues(modules);
	const colours = new Map<string, string>(), shades = new Map<string, number>();
	return (module, name, dark) => {
		let shade = shades.get(name);
		if (shade === undefined) {
			shade = Number(hash(name) % BigInt(SHADES));
			shades.set(name, shade);
		}
		const hue = of.get(module) ?? GREY, key = `${hue} ${shade} ${dark}`;
		let colour = colours.get(key);
		if (!colour) {
			colour = fill(hue, shade, dark);
			colours.set(key, colour);
		}
		return colour;
	};
}
