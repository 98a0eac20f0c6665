/* flame_chart.ts: samples in time order as frames: a function spans consecutive samples that have it under the same callers. A
 * sample stands for the CPU time before it, so it starts that long before it was taken, but not before the previous sample;
 * where the thread had no CPU there is a gap. */
import type { Node, Stacks, Tree } from "./data";
import type { Layout } from "./flame_layout";

export interface Chart {
	tree: Tree;
	at: Layout;
	from: number; /* ns from the recording's start, where x is 0 */
}

/* Timers are late: a sample that is at most this much later than its CPU time implies still follows the previous
 * one. */
const SLACK = 0.5;

class Frames {
	nodes: Node[] = [];
	x: number[] = [];
	width: number[] = [];
	depth: number[] = [];
	open: { node: number; frame: number }[] = [];

	constructor(readonly stacks: Stacks, wide: number) {
		this.push({ parent: null, name: "", module: "", file: "", line: 0, self: 0, total: 0, count: 0 }, 0, wide, 0);
	}

	push(node: Node, x: number, width: number, depth: number): number {
		this.x.push(x);
		this.width.push(width);
		this.depth.push(depth);
		return this.nodes.push(node) - 1;
	}

	/* From the root to the last node. */
	path(node: number): number[] {
		const found: number[] = [];
		for (let at = node; at >= 0; at = this.stacks.nodes.parent[at] ?? -1)
			found.push(at);
		return found.reverse();
	}

	add(path: number[], from: number, to: number, weight: number): void {
		let same = 0;
		while (same < path.length && this.open[same]?.node === path[same])
			same++;
		this.open.length = same;
		for (let i = same; i < path.length; i++) {
			const called = this.stacks.functions[this.stacks.nodes.function[path[i]!]!]!, parent = this.open[i - 1]?.frame ?? 0;
			this.open.push({ node: path[i]!, frame: this.push({ ...called, parent, self: 0, total: 0, count: 0 }, from, 0, i + 1) });
		}
		for (const { frame } of [{ frame: 0 }, ...this.open]) {
			const node = this.nodes[frame]!;
			node.total += weight;
			node.count++;
			if (frame)
				this.width[frame] = to - this.x[frame]!;
		}
		this.nodes[this.open[this.open.length - 1]?.frame ?? 0]!.self += weight;
	}
}

function laid(frames: Frames): Layout {
	const count = frames.nodes.length, end = new Int32Array(count);
	for (let i = count - 1; i >= 0; i--) {
		end[i] = Math.max(end[i]!, i + 1);
		const parent = frames.nodes[i]!.parent;
		if (parent !== null)
			end[parent] = Math.max(end[parent]!, end[i]!);
	}
	return {
		nodes: frames.nodes, x: Float64Array.from(frames.x), width: Float64Array.from(frames.width), depth: Int32Array.from(frames.depth), end,
		deepest: frames.depth.reduce((deep, at) => Math.max(deep, at), 0),
	};
}

/* `from`, `to`: the time range of the picture's width. */
export function chart(stacks: Stacks, from: number, to: number): Chart {
	const frames = new Frames(stacks, Math.max(1, to - from));
	let last = -Infinity;
	stacks.time_ns.forEach((time, i) => {
		const weight = stacks.weight_ns[i]!, begin = time - weight, follows = begin <= last + SLACK * weight;
		if (!follows)
			frames.open = [];
		frames.add(frames.path(stacks.node[i]!), Math.max(0, (follows ? last : begin) - from), Math.max(0, time - from), weight);
		last = time;
	});
	const tree: Tree = { id: "stacks", title: "Samples in order of time", kind: "tree", notes: [], value: "CPU time", unit: "ns", nodes: frames.nodes };
	return { tree, at: laid(frames), from };
}
