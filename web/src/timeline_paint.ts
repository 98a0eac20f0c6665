/* timeline_paint.ts: draws a frame of the timeline: tracks from the available tiles, then overlays: names, the selected range,
 * arrows, the critical path, and the slices under the pointer and the keyboard cursor. */
import { clean } from "./figure";
import { palette } from "./palette";
import { type Arrow, firstAt, type Lanes, type Slice, type Slices, type Step } from "./tiles";
import { inSight, type Row } from "./timeline_layout";
import { type Colour, mixed, packed, rasterCurve, rasterMoments, rasterSlices, type Strip } from "./timeline_raster";
import { levelOf, spanOf, type Store, type Tile } from "./timeline_store";
import type { Window } from "./timeline_view";

const FONT = '11px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
const NAMED_PX = 26, LABELS_MS = 5;

/* Thread states have fixed colours, the same in every recording. */
const STATES: Record<string, [light: Colour, dark: Colour]> = {
	running: [[158, 214, 160], [38, 92, 52]], runnable: [[244, 205, 120], [120, 84, 20]], blocked: [[208, 212, 217], [58, 64, 71]],
};

export interface Theme {
	ground: number;
	line: number;
	colours: Uint32Array; /* by name */
	faint: Uint32Array; /* fainter, for names that do not match the search */
	inks: string[]; /* text colours on these slices, by name */
	fill: number; /* colour of curves */
	pale: number;
	ink: string;
	soft: string;
	focus: string;
	path: string;
	veil: string;
}

function rgb(text: string): Colour {
	const found = /(\d+),\s*(\d+),\s*(\d+)/.exec(text);
	return found ? [Number(found[1]), Number(found[2]), Number(found[3])] : [128, 128, 128];
}

function luminance([red, green, blue]: Colour): number {
	const part = (byte: number) => (byte <= 10 ? byte / 3294 : ((byte / 255 + 0.055) / 1.055) ** 2.4);
	return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
}

/* Colours by name: chosen by the program, or else by the page from the name. `wanted`: bits by name, null = all. */
export function themeOf(lanes: Lanes, dark: boolean, wanted: Uint8Array | null): Theme {
	const own = palette(lanes.names.slice(0, 2000).map(({ name }) => [name, 0]));
	const ground: Colour = dark ? [21, 23, 27] : [251, 251, 250];
	const plain = lanes.names.map(({ name, color }): Colour => color === null ? STATES[name]?.[dark ? 1 : 0] ?? rgb(own(name, name, dark)) : [(color >> 16) & 255, (color >> 8) & 255, color & 255]);
	const colours = Uint32Array.from(plain, packed), base = packed(ground);
	return {
		ground: base, line: packed(dark ? [38, 42, 47] : [232, 233, 233]), colours,
		faint: wanted ? colours.map((colour, i) => (wanted[i] ? colour : mixed(colour, base, 0.18))) : colours,
		inks: plain.map((colour, i) => (wanted && !wanted[i] ? "" : luminance(colour) > 0.2 ? "#101317" : "#f4f5f7")),
		fill: packed(dark ? [74, 118, 178] : [126, 164, 219]), pale: packed(dark ? [47, 70, 102] : [197, 214, 240]),
		ink: dark ? "#e6e8eb" : "#1d2126", soft: dark ? "#a3aab2" : "#565d65", focus: dark ? "#6ea2ff" : "#2f6fde",
		path: dark ? "#ff8f87" : "#c2262b", veil: dark ? "#0a0b0d99" : "#5b626a38",
	};
}

export interface Scene {
	lanes: Lanes;
	rows: Row[];
	view: Window;
	scroll: number;
	width: number; /* in CSS pixels, like all sizes here */
	height: number;
	chosen: Window | null; /* the selected time range */
	focus: Slice | null;
	over: Slice | null;
	arrows: Arrow[];
	path: Step[];
}

export class Painter {
	labelsLeft = false; /* no time was left for labels: draw again when the picture stops moving */
	private context: CanvasRenderingContext2D;
	private block = document.createElement("canvas");
	private inside: CanvasRenderingContext2D;
	private image: ImageData | null = null;
	private pixels = new Uint32Array(0);
	private weight = new Float64Array(0);
	private other = new Float64Array(0);
	private letter = 0;
	constructor(private canvas: HTMLCanvasElement) {
		this.context = canvas.getContext("2d", { alpha: false })!;
		this.inside = this.block.getContext("2d", { willReadFrequently: true })!;
	}

	private sized(scene: Scene, ratio: number, rows: number): number {
		const wide = Math.max(1, Math.round(scene.width * ratio)), tall = Math.max(1, Math.round(scene.height * ratio));
		if (this.canvas.width !== wide || this.canvas.height !== tall) {
			this.canvas.width = wide;
			this.canvas.height = tall;
		}
		if (!this.image || this.image.width !== wide || this.image.height < rows) {
			this.image = new ImageData(wide, Math.max(rows + 64, 128));
			this.pixels = new Uint32Array(this.image.data.buffer);
			this.block.width = wide;
			this.block.height = this.image.height;
			this.weight = new Float64Array(wide);
			this.other = new Float64Array(wide);
		}
		return wide;
	}

	/* `hurry`: the picture is moving, so labels may be delayed. */
	draw(scene: Scene, theme: Theme, store: Store, hurry: boolean): void {
		const ratio = window.devicePixelRatio || 1, { rows, view } = scene;
		const [first, last] = inSight(rows, scene.scroll, scene.scroll + scene.height);
		const high = (row: Row) => (row.lane && row.lane.form === "curve" ? Math.round((row.height - 3) * ratio) : 1);
		let need = 0;
		for (let r = first; r < last; r++)
			need += high(rows[r]!);
		const wide = this.sized(scene, ratio, need), each = (view.to - view.from) / wide, level = levelOf(each);
		const shown: { row: Row; at: number; tiles: [tile: Tile, strip: Strip][] }[] = [];
		this.pixels.fill(theme.ground, 0, wide * need);
		let at = 0;
		for (let r = first; r < last; at += high(rows[r]!), r++) {
			const row = rows[r]!;
			if (row.lane)
				shown.push({ row, at, tiles: this.raster(scene, row, theme, store, { at, wide, each, level, high: high(row) }) });
		}
		this.inside.putImageData(this.image!, 0, 0, 0, 0, wide, need);
		const context = this.context;
		context.setTransform(1, 0, 0, 1, 0, 0);
		context.imageSmoothingEnabled = false;
		context.fillStyle = css(theme.ground);
		context.fillRect(0, 0, wide, this.canvas.height);
		context.fillStyle = css(theme.line);
		for (let r = first; r < last; r++) {
			const row = rows[r]!, y = Math.round((row.top - scene.scroll) * ratio), tall = Math.round(row.height * ratio);
			context.fillRect(0, y, wide, row.lane ? 1 : tall - 1);
		}
		for (const { row, at } of shown) {
			const y = Math.round((row.top - scene.scroll + 1) * ratio), tall = Math.round((row.height - 2) * ratio), rows = high(row);
			context.drawImage(this.block, 0, at, wide, rows, 0, rows === 1 ? y : y + Math.round(ratio), wide, rows === 1 ? tall : rows);
		}
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.names(shown, scene, theme, each * ratio, hurry);
		over(context, scene, theme);
	}

	private raster(scene: Scene, row: Row, theme: Theme, store: Store, to: { at: number; wide: number; each: number; level: number; high: number }): [Tile, Strip][] {
		const lane = row.lane!, { at, wide, each, level, high } = to, { from } = scene.view, span = spanOf(level);
		const pixels = this.pixels.subarray(at * wide, (at + high) * wide), found: [Tile, Strip][] = [];
		const [first, last] = store.columns(scene.view, level);
		for (let index = first; index <= last; index++) {
			const tile = store.best(lane.id, level, index);
			if (!tile)
				continue;
			const left = Math.max(0, Math.round((index * span - from) / each)), right = Math.min(wide, Math.round(((index + 1) * span - from) / each));
			const before = found[found.length - 1];
			if (before?.[0] === tile)
				before[1].right = right; /* one coarse tile replaces several */
			else if (right > left)
				found.push([tile, { from, each, left, right }]);
		}
		for (const [{ bins }, strip] of found)
			if (bins.form === "slices")
				rasterSlices(pixels, this.weight, bins, strip, theme.faint, theme.ground);
			else if (bins.form === "moments")
				rasterMoments(pixels, bins, strip, theme.faint, theme.ground);
			else
				rasterCurve(pixels, wide, high, bins, strip, lane.most, theme.fill, theme.pale, this.weight, this.other);
		return found;
	}

	/* Labels of wide slices. While the picture moves, as many as time permits. */
	private names(shown: { row: Row; tiles: [Tile, Strip][] }[], scene: Scene, theme: Theme, each: number, hurry: boolean): void {
		const context = this.context, until = performance.now() + LABELS_MS;
		context.font = FONT;
		context.textBaseline = "middle";
		this.letter ||= context.measureText("mmmmmmmmmmmmmmmmmmmm").width / 20 || 6.6;
		this.labelsLeft = false;
		for (const { row, tiles } of shown) {
			if (hurry && performance.now() > until) {
				this.labelsLeft = true;
				return;
			}
			const middle = row.top - scene.scroll + row.height / 2 + 0.5;
			let done = -Infinity; /* a slice that lies in two tiles is named once */
			for (const [{ bins }, strip] of tiles)
				if (bins.form === "slices" && row.height >= 14)
					done = this.labels(bins, strip, scene, theme, each, middle, done);
		}
	}

	private labels(bins: Slices, strip: Strip, scene: Scene, theme: Theme, each: number, middle: number, done: number): number {
		const { start, length, name, many } = bins, { from } = scene.view, least = each * NAMED_PX;
		const end = strip.from + strip.right * strip.each;
		let i = firstAt(start, strip.from + strip.left * strip.each);
		if (i > 0)
			i--;
		for (; i < start.length && start[i]! < end; i++) {
			if (many[i] !== 1 || length[i]! < least || start[i]! <= done)
				continue;
			done = start[i]!;
			const left = Math.max(0, (start[i]! - from) / each), right = Math.min(scene.width, (start[i]! + length[i]! - from) / each);
			const room = Math.floor((right - left - 6) / this.letter), ink = theme.inks[name[i]!];
			if (room < 2 || !ink)
				continue;
			const text = nameIn(scene.lanes, name[i]!, room);
			this.context.fillStyle = ink;
			this.context.fillText(text, left + 3, middle);
		}
		return done;
	}
}

const cut = new Map<string, string>();

/* A name shortened to the available width; recent results are cached. */
function nameIn(lanes: Lanes, name: number, room: number): string {
	const whole = lanes.names[name]?.name ?? "", key = room + " " + whole;
	let text = cut.get(key);
	if (text === undefined) {
		const letters = Array.from(clean(whole.slice(0, 500)));
		text = letters.length <= room ? letters.join("") : letters.slice(0, room - 1).join("") + "…";
		if (cut.size > 5000)
			cut.clear();
		cut.set(key, text);
	}
	return text;
}

export function css(colour: number): string {
	return `rgb(${colour & 255},${(colour >> 8) & 255},${(colour >> 16) & 255})`;
}

/* --- overlays ----------------------------------------------------------------------------------------------------- */

function over(context: CanvasRenderingContext2D, scene: Scene, theme: Theme): void {
	const x = xOf(scene), places = placesOf(scene);
	if (scene.path.length)
		drawPath(context, scene, theme, places);
	if (scene.chosen) {
		context.fillStyle = theme.veil;
		context.fillRect(0, 0, x(scene.chosen.from), scene.height);
		context.fillRect(x(scene.chosen.to), 0, scene.width - x(scene.chosen.to), scene.height);
		context.fillStyle = theme.focus;
		for (const time of [scene.chosen.from, scene.chosen.to])
			if (time >= scene.view.from && time <= scene.view.to)
				context.fillRect(x(time) - 0.5, 0, 1, scene.height);
	}
	drawArrows(context, scene, theme, places);
	for (const slice of [scene.over, scene.focus]) {
		const row = slice && places.get(slice.lane);
		if (!slice || !row)
			continue;
		const left = x(slice.start), right = x(slice.start + slice.length);
		context.strokeStyle = slice === scene.focus ? theme.focus : theme.ink;
		context.lineWidth = slice === scene.focus ? 2.5 : 1.5;
		context.strokeRect(left, row.top - scene.scroll + 1, Math.max(2, right - left), row.height - 2);
	}
}

/* Positions far outside the window are clamped to just outside, because a canvas cannot draw huge coordinates. */
function xOf({ view, width }: Scene): (time: number) => number {
	const scale = width / (view.to - view.from);
	return (time) => Math.min(Math.max((time - view.from) * scale, -1000), width + 1000);
}

function placesOf({ rows }: Scene): Map<number, Row> {
	let found = placed.get(rows);
	if (!found) {
		found = new Map(rows.flatMap((row): [number, Row][] => (row.lane ? [[row.lane.id, row]] : [])));
		placed.set(rows, found);
	}
	return found;
}

const placed = new WeakMap<Row[], Map<number, Row>>();

function drawPath(context: CanvasRenderingContext2D, scene: Scene, theme: Theme, places: Map<number, Row>): void {
	const x = xOf(scene);
	let before: [x: number, y: number] | null = null;
	context.strokeStyle = context.fillStyle = theme.path;
	context.lineWidth = 1;
	context.beginPath();
	for (const step of scene.path) {
		const row = step.lane === null ? undefined : places.get(step.lane);
		if (!row)
			continue;
		const y = row.top + row.height - scene.scroll - 3, left = x(step.start), right = x(step.start + step.length);
		context.fillRect(left, y, Math.max(1, right - left), 3);
		if (before && Math.abs(before[1] - y) > 1) {
			context.moveTo(before[0] + 0.5, before[1] + 1.5);
			context.lineTo(left + 0.5, y + 1.5);
		}
		before = [right, y];
	}
	context.stroke();
}

function drawArrows(context: CanvasRenderingContext2D, scene: Scene, theme: Theme, places: Map<number, Row>): void {
	if (!scene.arrows.length)
		return;
	const x = xOf(scene), middle = (row: Row) => row.top + row.height / 2 - scene.scroll;
	context.strokeStyle = context.fillStyle = theme.ink;
	context.lineWidth = 1.2;
	for (const arrow of scene.arrows) {
		const one = places.get(arrow.from_lane), other = places.get(arrow.to_lane);
		if (!one || !other)
			continue;
		const x0 = x(arrow.from), x1 = x(arrow.to), y0 = middle(one), y1 = middle(other), bend = Math.max(12, Math.abs(x1 - x0) / 3);
		context.beginPath();
		context.moveTo(x0, y0);
		context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 4, y1);
		context.stroke();
		context.beginPath();
		context.moveTo(x1, y1);
		context.lineTo(x1 - 6, y1 - 3.5);
		context.lineTo(x1 - 6, y1 + 3.5);
		context.fill();
	}
}
