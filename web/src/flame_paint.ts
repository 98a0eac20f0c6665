/* flame_paint.ts: the drawing of a flame graph. The canvas is as large as the window on it, never as the picture: it stays
 * where it is while a deep picture scrolls behind it. What is below a frame narrower than half a pixel is not looked at, and
 * counted. Colours of frames are found once a tree; frames are filled first and named afterwards, so that the font and the
 * ink are set once a drawing. */
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
	current: number; /* where the keyboard is */
	over: number;
	found: Hits | null;
	width: number;
	height: number;
	scroll: number;
}

/* Where a frame stands: left and width in pixels. What is above the zoomed frame is as wide as the picture. */
function place({ at, zoomed, width }: Scene, i: number): [left: number, wide: number, above: boolean] {
	if (i < zoomed && at.end[i]! > zoomed)
		return [0, width, true];
	const scale = width / (at.width[zoomed] || 1);
	return [(at.x[i]! - at.x[zoomed]!) * scale, at.width[i]! * scale, false];
}

export function top(scene: Scene, look: Look, depth: number): number {
	return (look.upside ? Math.max(scene.at.deepest * ROW, scene.height - ROW) - depth * ROW : depth * ROW) - scene.scroll;
}

/* How many frames were too narrow to look at: those, and all that is below them. */
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

/* The fill of each frame. */
export function colours(tree: Tree, dark: boolean): string[] {
	const colour = palette(modules(tree.nodes));
	return tree.nodes.map((node) => colour(node.module, node.name, dark));
}

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

/* How many frames are there but too narrow to be drawn. */
export function draw(canvas: HTMLCanvasElement, tree: Tree, scene: Scene, look: Look, fills: string[]): number {
	const context = prepare(canvas, scene);
	if (!context)
		return 0;
	const ink = look.dark ? "#e6e8eb" : "#1d2126", ground = look.dark ? "#15171b" : "#fbfbfa", mark = look.dark ? "#b5308a" : "#b02a89";
	const letter = letterOf(context), named: [i: number, left: number, y: number, room: number][] = [];
	context.globalAlpha = 1;
	context.fillStyle = ground;
	context.fillRect(0, 0, scene.width, scene.height);
	const leftOut = each(scene, (i, left, wide, above) => {
		const y = top(scene, look, scene.at.depth[i]!);
		if (y < -ROW || y > scene.height)
			return;
		const hit = scene.found?.is[i] === 1, room = Math.floor((wide - 8) / letter);
		context.globalAlpha = scene.found && !hit ? 0.4 : above ? 0.6 : 1;
		context.fillStyle = hit ? mark : fills[i]!;
		context.fillRect(left, y, wide > 2 ? wide - 1 : wide, ROW - 1);
		if (room >= 2)
			named.push([i, left + 4, y + ROW / 2, room]);
	});
	context.globalAlpha = 1;
	context.textBaseline = "middle";
	for (const [i, left, y, room] of named) {
		const name = nameOf(tree, i);
		const shown = name.length <= room ? name : Array.from(name).slice(0, room - 1).join("") + "…";
		context.fillStyle = scene.found?.is[i] === 1 ? "#fff" : ink;
		context.fillText(shown, left, y);
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
