/* flame_paint.ts: draws a flame graph. The canvas has the size of the viewport, not of the picture, and stays in place while a
 * deep picture scrolls behind it. Subtrees of frames narrower than half a pixel are skipped and counted. Narrow frames
 * (there may be a hundred thousand) are pixels of an image that has one pixel row per level and is then stretched;
 * wider frames are filled and labelled on top of that image. Colours are computed once per tree. */
import type { Tree } from "./data";
import { clean } from "./figure";
import { modules, type Hits, type Layout } from "./flame_layout";
import { palette } from "./palette";

export const ROW = 20, LEAST_PX = 0.5;
const FONT = '12px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

export interface Look {
	dark: boolean;
	upside: boolean; /* the root at the bottom: a flame graph; else an icicle graph */
	wanted: RegExp | null;
}

export function nameOf(tree: Tree, i: number): string {
	return clean(tree.nodes[i]!.name || "all");
}

export interface Scene {
	at: Layout;
	zoomed: number;
	current: number; /* the frame selected by keyboard */
	over: number;
	found: Hits | null;
	width: number;
	height: number;
	scroll: number;
}

/* The position of a frame: left edge and width in pixels. Frames above the zoomed one are as wide as the picture. */
function place({ at, zoomed, width }: Scene, i: number): [left: number, wide: number, above: boolean] {
	if (i < zoomed && at.end[i]! > zoomed)
		return [0, width, true];
	const scale = width / (at.width[zoomed] || 1);
	return [(at.x[i]! - at.x[zoomed]!) * scale, at.width[i]! * scale, false];
}

export function top(scene: Scene, look: Look, depth: number): number {
	return (look.upside ? Math.max(scene.at.deepest * ROW, scene.height - ROW) - depth * ROW : depth * ROW) - scene.scroll;
}

/* Calls `see` for each frame that is wide enough; returns how many frames were too narrow, including everything below
 * them. */
function each(scene: Scene, see: (i: number, left: number, wide: number, above: boolean) => void): number {
	const { at, zoomed } = scene, end = at.end[zoomed]!, scale = scene.width / (at.width[zoomed] || 1), from = at.x[zoomed]!;
	let leftOut = 0;
	for (let above = at.nodes[zoomed]!.parent; above !== null; above = at.nodes[above]!.parent)
		see(above, 0, scene.width, true);
	for (let i = zoomed; i < end; ) {
		const wide = at.width[i]! * scale;
		if (wide < LEAST_PX) {
			leftOut += at.end[i]! - i;
			i = at.end[i]!;
		} else {
			see(i, (at.x[i]! - from) * scale, wide, false);
			i++;
		}
	}
	return leftOut;
}

function letterOf(context: CanvasRenderingContext2D): number {
	context.font = FONT;
	return context.measureText("mmmmmmmmmmmmmmmmmmmm").width / 20 || 7.3;
}

export interface Fills {
	css: string[];
	pixel: Uint32Array; /* opaque, in the canvas's byte order */
}

/* 0xAABBGGRR of "rgb(R,G,B)" or "#RRGGBB"; browsers run on little-endian machines. */
function pixelOf(css: string): number {
	const digits = css.startsWith("#") ? [1, 3, 5].map((at) => parseInt(css.slice(at, at + 2), 16)) : css.replace(/[^\d,. ]/g, "").split(/[, ]+/).map(Number);
	const [red, green, blue] = digits;
	return (0xff000000 | ((blue ?? 0) << 16) | ((green ?? 0) << 8) | (red ?? 0)) >>> 0;
}

/* Fills that are given as CSS colours. */
export function fillsOf(css: string[]): Fills {
	const known = new Map<string, number>();
	const pixel = Uint32Array.from(css, (text) => {
		let found = known.get(text);
		if (found === undefined)
			known.set(text, (found = pixelOf(text)));
		return found;
	});
	return { css, pixel };
}

/* The fill of each frame: by module and name. */
export function colours(tree: Tree, dark: boolean): Fills {
	const colour = palette(modules(tree.nodes));
	return fillsOf(tree.nodes.map((node) => colour(node.module, node.name, dark)));
}

/* Frames narrower than this many pixels go into the image. */
const NARROW_PX = 3, FAINT = 0x66000000; /* opacity 0.4 */

/* Rows of pixels: one for each visible level of frames. */
class Rows {
	private readonly canvas = document.createElement("canvas");
	private pixels = new Uint32Array(0);
	private image: ImageData | null = null;
	private tops: number[] = [];

	begin(width: number, rows: number): void {
		if (this.canvas.width !== width || this.canvas.height !== rows || !this.image) {
			this.canvas.width = width;
			this.canvas.height = rows;
			this.image = new ImageData(width, rows);
			this.pixels = new Uint32Array(this.image.data.buffer);
		}
		this.pixels.fill(0);
		this.tops = [];
	}

	/* `left`, `wide`: in device pixels. A pixel of which this fill covers less than half keeps its earlier fill,
	 * unless this fill `wins`: search hits must be visible. */
	put(top: number, left: number, wide: number, pixel: number, wins: boolean): void {
		const row = Math.floor((top + ROW) / ROW), at = row * this.canvas.width;
		if (row >= this.canvas.height)
			return;
		this.tops[row] = top;
		for (let x = Math.floor(left), end = Math.min(left + wide, this.canvas.width); x < end; x++) {
			const covered = Math.min(x + 1, left + wide) - Math.max(x, left);
			if (wins || covered >= 0.5 || !this.pixels[at + x])
				this.pixels[at + x] = pixel;
		}
	}

	end(context: CanvasRenderingContext2D, width: number): void {
		if (!this.image)
			return;
		this.canvas.getContext("2d")?.putImageData(this.image, 0, 0);
		context.imageSmoothingEnabled = false;
		this.tops.forEach((top, row) => context.drawImage(this.canvas, 0, row, this.canvas.width, 1, 0, top, width, ROW - 1));
	}
}

let rows: Rows | null = null; /* one picture is drawn at a time */

function outline(context: CanvasRenderingContext2D, scene: Scene, look: Look, ink: string): void {
	context.strokeStyle = ink;
	context.lineWidth = 2;
	for (const i of [scene.over, scene.current]) {
		if (i < 0)
			continue;
		const [left, wide] = place(scene, i);
		context.strokeRect(left + 1, top(scene, look, scene.at.depth[i]!) + 1, Math.max(1, wide - 3), ROW - 3);
	}
}

function prepare(canvas: HTMLCanvasElement, scene: Scene): CanvasRenderingContext2D | null {
	const ratio = window.devicePixelRatio || 1, context = canvas.getContext("2d");
	const width = Math.round(scene.width * ratio), height = Math.round(scene.height * ratio);
	if (canvas.width !== width || canvas.height !== height) {
		canvas.width = width;
		canvas.height = height;
		canvas.style.width = `${scene.width}px`;
		canvas.style.height = `${scene.height}px`;
	}
	context?.setTransform(ratio, 0, 0, ratio, 0, 0);
	return context;
}

/* Draws the picture; returns the number of frames that were too narrow. */
export function draw(canvas: HTMLCanvasElement, tree: Tree, scene: Scene, look: Look, fills: Fills): number {
	const context = prepare(canvas, scene);
	if (!context)
		return 0;
	const ink = look.dark ? "#e6e8eb" : "#1d2126", ground = look.dark ? "#15171b" : "#fbfbfa", mark = look.dark ? "rgb(181,48,138)" : "rgb(176,42,137)";
	const letter = letterOf(context), large: [i: number, left: number, y: number, wide: number, alpha: number][] = [];
	const ratio = canvas.width / scene.width, marked = pixelOf(mark), image = (rows ??= new Rows());
	image.begin(canvas.width, Math.ceil(scene.height / ROW) + 2);
	context.globalAlpha = 1;
	context.fillStyle = ground;
	context.fillRect(0, 0, scene.width, scene.height);
	const leftOut = each(scene, (i, left, wide, above) => {
		const y = top(scene, look, scene.at.depth[i]!);
		if (y < -ROW || y > scene.height)
			return;
		const hit = scene.found?.is[i] === 1, alpha = scene.found && !hit ? 0.4 : above ? 0.6 : 1;
		if (wide >= NARROW_PX)
			large.push([i, left, y, wide, alpha]);
		else
			image.put(y, left * ratio, wide * ratio, hit ? marked : alpha < 1 ? (fills.pixel[i]! & 0xffffff) | FAINT : fills.pixel[i]!, hit);
	});
	image.end(context, scene.width);
	for (const [i, left, y, wide, alpha] of large) {
		context.globalAlpha = alpha;
		context.fillStyle = scene.found?.is[i] === 1 ? mark : fills.css[i]!;
		context.fillRect(left, y, wide - 1, ROW - 1);
	}
	context.globalAlpha = 1;
	context.textBaseline = "middle";
	for (const [i, left, y, wide] of large) {
		const room = Math.floor((wide - 8) / letter);
		if (room < 2)
			continue;
		const name = nameOf(tree, i);
		context.fillStyle = scene.found?.is[i] === 1 ? "#fff" : ink;
		context.fillText(name.length <= room ? name : Array.from(name).slice(0, room - 1).join("") + "…", left + 4, y + ROW / 2);
	}
	outline(context, scene, look, ink);
	return leftOut;
}

export function under(scene: Scene, look: Look, x: number, y: number): number {
	let found = -1;
	each(scene, (i, left, wide) => {
		const at = top(scene, look, scene.at.depth[i]!);
		if (x >= left && x < left + wide && y >= at && y < at + ROW)
			found = i;
	});
	return found;
}
