/* flame_canvas.tsx: a flame graph with mouse and keyboard navigation. The zoomed frame belongs to the parent component, because
 * it is in the URL; all other state is here. Every frame can be reached: the arrow keys move to frames that are too narrow to
 * draw, and zoom until they are visible. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Tree } from "./data";
import { clean, figure } from "./figure";
import { hits, layout, neighbour, type Layout, type Way } from "./flame_layout";
import { colours, draw, fillsOf, type Look, nameOf, ROW, type Scene, top, under } from "./flame_paint";

/* For frames that are drawn at their times instead of side by side, with additional details of a frame. */
export interface Laid {
	at: Layout;
	more: (i: number) => string;
}

export interface FlameProps {
	tree: Tree;
	look: Look;
	zoomed: number;
	onZoom: (i: number) => void;
	onName?: (name: string) => void; /* leads from a frame to its function */
	laid?: Laid | undefined;
	fills?: string[] | undefined; /* of each frame; else by module and name */
	label?: string;
}

function describe(tree: Tree, i: number, laid?: Laid): string[] {
	const node = tree.nodes[i]!, whole = tree.nodes[0]!.total;
	const part = (value: number) => `${figure(tree.unit, value)}, ${figure("ratio", whole ? value / whole : 0)}`;
	const lines = [`total ${part(node.total)}`, `self ${part(node.self)}`];
	if (laid)
		lines.push(laid.more(i));
	if (node.module)
		lines.unshift(clean(node.module));
	if (node.file)
		lines.push(clean(node.file) + (node.line ? `:${node.line}` : ""));
	return lines;
}

const KEYS: Record<string, [icicle: Way, flame: Way]> = {
	ArrowUp: ["parent", "child"], ArrowDown: ["child", "parent"], ArrowLeft: ["before", "before"], ArrowRight: ["next", "next"],
};

/* The frame to zoom so that `to` is wide enough to be visible: the current one if that suffices, else the parent of
 * `to`, else `to` itself. */
function zoomFor(at: Layout, zoomed: number, to: number, width: number): number {
	const wide = (of: number) => (at.width[to]! / (at.width[of] || 1)) * width;
	const inside = to >= zoomed && to < at.end[zoomed]!, above = to < zoomed && at.end[to]! > zoomed;
	if (above || (inside && wide(zoomed) >= 2))
		return zoomed;
	let of = at.nodes[to]!.parent ?? 0;
	return wide(of) >= 2 ? of : to;
}

export function FlameCanvas({ tree, look, zoomed: wanted, onZoom, onName, laid, fills: own, label }: FlameProps) {
	const box = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null);
	const at = useMemo(() => laid?.at ?? layout(tree), [tree, laid]);
	const fills = useMemo(() => (own ? fillsOf(own) : colours(tree, look.dark)), [tree, look.dark, own]);
	const found = useMemo(() => (look.wanted ? hits(at, look.wanted) : null), [at, look.wanted]);
	const [current, focus] = useState(-1);
	const [over, setOver] = useState(-1);
	const [leftOut, setLeftOut] = useState(0);
	const [pointer, setPointer] = useState([0, 0]);
	const [size, setSize] = useState({ width: 800, height: 400, scroll: 0 });
	const zoomed = wanted > 0 && wanted < tree.nodes.length ? wanted : 0;
	const scene: Scene = { at, found, zoomed, current: current < tree.nodes.length ? current : -1, over: over < tree.nodes.length ? over : -1, ...size };
	useEffect(() => {
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
			setLeftOut(draw(canvas.current, tree, scene, look, fills));
	}, [tree, at, found, zoomed, scene.current, scene.over, size, look.dark, look.upside, fills]);
	function walk(to: number): void {
		const of = zoomFor(at, zoomed, to, size.width);
		if (of !== zoomed)
			onZoom(of);
		focus(to);
		const y = top(scene, look, at.depth[to]!);
		if (box.current && (y < 0 || y > size.height - ROW))
			box.current.scrollTop += y < 0 ? y : y - size.height + ROW;
	}
	function step(event: KeyboardEvent): void {
		const way = KEYS[event.key]?.[look.upside ? 1 : 0];
		if (event.key === "Escape") {
			onZoom(0);
			focus(0);
		} else if (event.key === "Enter" || event.key === " ") {
			onZoom(Math.max(0, current));
		} else if (way) {
			const to = current < 0 ? zoomed : neighbour(at, current, way);
			if (to >= 0)
				walk(to);
		} else if (event.key === "c" && onName && told > 0) {
			onName(tree.nodes[told]!.name);
		} else {
			return;
		}
		event.preventDefault();
	}
	const told = scene.over >= 0 ? scene.over : scene.current;
	const tall = (at.deepest + 1) * ROW, named = zoomed > 0 ? tree.nodes[zoomed]!.name : "";
	return (
		<>
			<p class="told" role="status">
				{told >= 0 ? [nameOf(tree, told), ...describe(tree, told, laid)].join(" · ")
					: `Click or Enter zooms, arrow keys walk, Escape shows everything${onName ? ", c shows callers and callees" : ""}.`}
			</p>
			<div class="flame" ref={box} style={{ height: `min(${tall}px, max(260px, calc(100vh - 330px)))` }}
				onScroll={(event) => setSize({ ...size, scroll: event.currentTarget.scrollTop })}>
				<canvas ref={canvas} tabIndex={0} role="application" data-zoomed={nameOf(tree, zoomed)}
					aria-label={`${label ?? `Flame graph of ${tree.value}`}: arrow keys walk from frame to frame, Enter zooms, Escape shows all. The same data is available as a table.`}
					onKeyDown={step} onBlur={() => focus(-1)}
					onClick={(event) => {
						const i = under(scene, look, event.offsetX, event.offsetY);
						if (i >= 0) {
							onZoom(i);
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
			{scene.over >= 0 && (
				<div class="tip" aria-hidden="true" style={tipPlace(pointer[0] ?? 0, pointer[1] ?? 0)}>
					<strong>{nameOf(tree, scene.over)}</strong>
					{describe(tree, scene.over, laid).map((line) => <div>{line}</div>)}
				</div>
			)}
			<p class="count" role="status">
				{found && `${found.count === 1 ? "1 frame matches" : `${figure("count", found.count)} frames match`}, ${figure("ratio", at.width[0] ? found.sum / at.width[0] : 0)} in all. `}
				{leftOut > 0 && <span data-narrow={leftOut}>{figure("count", leftOut)} of {figure("count", at.end[zoomed]! - zoomed)} frames are narrower than half a pixel: zoom in, or use the arrow keys or the table. </span>}
				{zoomed > 0 && <button type="button" onClick={() => onZoom(0)}>Show all</button>}{" "}
				{named && onName && <button type="button" onClick={() => onName(named)}>Callers and callees of {clean(named)}</button>}
			</p>
		</>
	);
}

function tipPlace(x: number, y: number): Record<string, string> {
	const side: Record<string, string> = x > window.innerWidth / 2 ? { right: `${window.innerWidth - x + 14}px` } : { left: `${x + 14}px` };
	return y > window.innerHeight * 0.65 ? { ...side, bottom: `${window.innerHeight - y + 14}px` } : { ...side, top: `${y + 14}px` };
}
