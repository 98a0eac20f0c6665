/* flame_canvas.tsx: the flame graph itself. The canvas is as large as the window on it, never as the picture: it stays
 * where it is while a deep picture scrolls behind it. What is below a frame narrower than half a pixel is not looked at. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Tree } from "./data";
import { clean, figure } from "./figure";
import { hits, layout, modules, neighbour, type Hits, type Layout, type Way } from "./flame_layout";
import { palette } from "./palette";

const ROW = 20, LEAST_PX = 0.5, FONT = '12px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

export interface Look {
	dark: boolean;
	upside: boolean; /* the root at the bottom: a flame graph; else an icicle graph */
	wanted: RegExp | null;
}

export function nameOf(tree: Tree, i: number): string {
	return clean(tree.nodes[i]!.name || "all");
}

export function describe(tree: Tree, i: number): string[] {
	const node = tree.nodes[i]!, whole = tree.nodes[0]!.total;
	const part = (value: number) => `${figure(tree.unit, value)}, ${figure("ratio", whole ? value / whole : 0)}`;
	const lines = [`total ${part(node.total)}`, `self ${part(node.self)}`];
	if (node.module)
		lines.unshift(clean(node.module));
	if (node.file)
		lines.push(clean(node.file) + (node.line ? `:${node.line}` : ""));
	return lines;
}

interface Scene {
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

function top(scene: Scene, look: Look, depth: number): number {
	return (look.upside ? Math.max(scene.at.deepest * ROW, scene.height - ROW) - depth * ROW : depth * ROW) - scene.scroll;
}

function each(scene: Scene, see: (i: number, left: number, wide: number, above: boolean) => void): void {
	const { at, zoomed } = scene;
	for (let i = zoomed, above: number | null = at.nodes[zoomed]!.parent; above !== null; i = above, above = at.nodes[i]!.parent)
		see(above, 0, scene.width, true);
	for (let i = zoomed; i < at.end[zoomed]!; ) {
		const [left, wide] = place(scene, i);
		if (wide < LEAST_PX) {
			i = at.end[i]!;
		} else {
			see(i, left, wide, false);
			i++;
		}
	}
}

function letterOf(context: CanvasRenderingContext2D): number {
	context.font = FONT;
	return context.measureText("mmmmmmmmmmmmmmmmmmmm").width / 20 || 7.3;
}

function draw(canvas: HTMLCanvasElement, tree: Tree, scene: Scene, look: Look, colour: ReturnType<typeof palette>): void {
	const context = canvas.getContext("2d"), ratio = window.devicePixelRatio || 1;
	if (!context)
		return;
	canvas.width = Math.round(scene.width * ratio);
	canvas.height = Math.round(scene.height * ratio);
	canvas.style.width = `${scene.width}px`;
	canvas.style.height = `${scene.height}px`;
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	const letter = letterOf(context);
	context.textBaseline = "middle";
	const ink = look.dark ? "#e6e8eb" : "#1d2126", ground = look.dark ? "#15171b" : "#fbfbfa";
	context.fillStyle = ground;
	context.fillRect(0, 0, scene.width, scene.height);
	each(scene, (i, left, wide, above) => {
		const y = top(scene, look, scene.at.depth[i]!);
		if (y < -ROW || y > scene.height)
			return;
		const node = tree.nodes[i]!, hit = scene.found?.is[i] === 1;
		context.globalAlpha = scene.found && !hit ? 0.4 : above ? 0.6 : 1;
		context.fillStyle = hit ? (look.dark ? "#b5308a" : "#b02a89") : colour(node.module, node.name, look.dark);
		context.fillRect(left, y, wide > 2 ? wide - 1 : wide, ROW - 1);
		context.globalAlpha = 1;
		const room = Math.floor((wide - 8) / letter);
		if (room >= 2) {
			const name = Array.from(nameOf(tree, i));
			context.fillStyle = hit ? "#fff" : ink;
			context.fillText(name.length <= room ? name.join("") : name.slice(0, room - 1).join("") + "…", left + 4, y + ROW / 2);
		}
	});
	for (const i of [scene.over, scene.current]) {
		if (i < 0)
			continue;
		const [left, wide] = place(scene, i);
		context.strokeStyle = ink;
		context.lineWidth = 2;
		context.strokeRect(left + 1, top(scene, look, scene.at.depth[i]!) + 1, Math.max(1, wide - 3), ROW - 3);
	}
}

function under(scene: Scene, look: Look, x: number, y: number): number {
	let found = -1;
	each(scene, (i, left, wide) => {
		const at = top(scene, look, scene.at.depth[i]!);
		if (x >= left && x < left + wide && y >= at && y < at + ROW)
			found = i;
	});
	return found;
}

const KEYS: Record<string, [icicle: Way, flame: Way]> = {
	ArrowUp: ["parent", "child"], ArrowDown: ["child", "parent"], ArrowLeft: ["before", "before"], ArrowRight: ["next", "next"],
};

export function FlameCanvas({ tree, look }: { tree: Tree; look: Look }) {
	const box = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null);
	const at = useMemo(() => layout(tree), [tree]);
	const colour = useMemo(() => palette(modules(tree.nodes)), [tree]);
	const found = useMemo(() => (look.wanted ? hits(at, look.wanted) : null), [at, look.wanted]);
	const [zoomed, zoom] = useState(0);
	const [current, focus] = useState(-1);
	const [over, setOver] = useState(-1);
	const [pointer, setPointer] = useState([0, 0]);
	const [size, setSize] = useState({ width: 800, height: 400, scroll: 0 });
	const scene: Scene = { at, found, zoomed: zoomed < tree.nodes.length ? zoomed : 0, current, over, ...size };
	useEffect(() => {
		zoom(0);
		focus(-1);
		setOver(-1);
	}, [tree]);
	useLayoutEffect(() => {
		const measure = () => box.current && setSize({ width: box.current.clientWidth, height: box.current.clientHeight, scroll: box.current.scrollTop });
		if (box.current)
			box.current.scrollTop = look.upside ? box.current.scrollHeight : 0;
		measure();
		const watch = new ResizeObserver(measure);
		if (box.current)
			watch.observe(box.current);
		return () => watch.disconnect();
	}, [look.upside, tree]);
	useLayoutEffect(() => {
		if (canvas.current)
			draw(canvas.current, tree, scene, look, colour);
	});
	function step(event: KeyboardEvent): void {
		const way = KEYS[event.key]?.[look.upside ? 1 : 0];
		if (event.key === "Escape") {
			zoom(0);
			focus(0);
		} else if (event.key === "Enter" || event.key === " ") {
			zoom(Math.max(0, current));
		} else if (way) {
			const least = (LEAST_PX * at.width[scene.zoomed]!) / size.width;
			const to = current < 0 ? scene.zoomed : neighbour(at, current, way, least);
			if (to >= 0) {
				const inside = to >= scene.zoomed && to < at.end[scene.zoomed]!;
				if (!inside && !(at.end[to]! > scene.zoomed && to < scene.zoomed))
					zoom(at.nodes[to]!.parent ?? 0);
				focus(to);
				const y = top(scene, look, at.depth[to]!);
				if (box.current && (y < 0 || y > size.height - ROW))
					box.current.scrollTop += y < 0 ? y : y - size.height + ROW;
			}
		} else {
			return;
		}
		event.preventDefault();
	}
	const told = over >= 0 ? over : current;
	const tall = (at.deepest + 1) * ROW;
	return (
		<>
			<p class="told" role="status">
				{told >= 0 ? [nameOf(tree, told), ...describe(tree, told)].join(" · ") : "Click or Enter zooms, arrow keys walk, Escape shows all again."}
			</p>
			<div class="flame" ref={box} style={{ height: `min(${tall}px, max(260px, calc(100vh - 330px)))` }}
				onScroll={(event) => setSize({ ...size, scroll: event.currentTarget.scrollTop })}>
				<canvas ref={canvas} tabIndex={0} role="application" data-zoomed={nameOf(tree, scene.zoomed)}
					aria-label={`Flame graph of ${tree.value}: arrow keys walk from frame to frame, Enter zooms, Escape shows all. The same is there as a table.`}
					onKeyDown={step} onBlur={() => focus(-1)}
					onClick={(event) => {
						const i = under(scene, look, event.offsetX, event.offsetY);
						if (i >= 0) {
							zoom(i);
							focus(-1);
						}
					}}
					onMouseMove={(event) => {
						setOver(under(scene, look, event.offsetX, event.offsetY));
						setPointer([event.clientX, event.clientY]);
					}}
					onMouseLeave={() => setOver(-1)} />
				<div class="tall" style={{ height: `${Math.max(0, tall - size.height)}px` }} />
			</div>
			{over >= 0 && (
				<div class="tip" aria-hidden="true" style={tipPlace(pointer[0] ?? 0, pointer[1] ?? 0)}>
					<strong>{nameOf(tree, over)}</strong>
					{describe(tree, over).map((line) => <div>{line}</div>)}
				</div>
			)}
			<p class="count" role="status">
				{found && `${found.count === 1 ? "1 frame matches" : `${figure("count", found.count)} frames match`}, ${figure("ratio", at.width[0] ? found.sum / at.width[0] : 0)} in all`}
				{scene.zoomed > 0 && <>{" "}<button type="button" onClick={() => zoom(0)}>Show all</button></>}
			</p>
		</>
	);
}

function tipPlace(x: number, y: number): Record<string, string> {
	const side: Record<string, string> = x > window.innerWidth / 2 ? { right: `${window.innerWidth - x + 14}px` } : { left: `${x + 14}px` };
	return y > window.innerHeight * 0.65 ? { ...side, bottom: `${window.innerHeight - y + 14}px` } : { ...side, top: `${y + 14}px` };
}
