/* flame_layout.ts: the positions of a tree's frames: children side by side from their parent's left edge, in the tree's unit.
 * Nodes are in depth-first order, so a subtree is its root and the nodes right after it, and is skipped in one step. */
import type { Node, Tree } from "./data";

export interface Layout {
	nodes: Node[];
	x: Float64Array; /* in the unit of total */
	width: Float64Array; /* its total, or less if its parent has no more space */
	depth: Int32Array;
	end: Int32Array; /* the first node after its subtree */
	deepest: number;
}

export interface Hits {
	is: Uint8Array;
	count: number;
	sum: number; /* sum of their totals, without hits that are inside other hits */
}

export function layout(tree: Tree): Layout {
	const { nodes } = tree, count = nodes.length;
	const at: Layout = {
		nodes, x: new Float64Array(count), width: new Float64Array(count), depth: new Int32Array(count), end: new Int32Array(count), deepest: 0,
	};
	const next = new Float64Array(count);
	nodes.forEach((node, i) => {
		const parent = node.parent;
		at.end[i] = i + 1;
		at.width[i] = node.total;
		if (parent !== null) {
			const room = at.x[parent]! + at.width[parent]! - next[parent]!;
			at.depth[i] = at.depth[parent]! + 1;
			at.x[i] = next[parent]!;
			at.width[i] = Math.max(0, Math.min(node.total, room));
			next[parent] = at.x[i]! + at.width[i]!;
			at.deepest = Math.max(at.deepest, at.depth[i]!);
		}
		next[i] = at.x[i]!;
	});
	for (let i = count - 1; i > 0; i--) {
		const parent = nodes[i]!.parent ?? 0;
		at.end[parent] = Math.max(at.end[parent]!, at.end[i]!);
	}
	return at;
}

export function hits(at: Layout, wanted: RegExp): Hits {
	const found: Hits = { is: new Uint8Array(at.nodes.length), count: 0, sum: 0 };
	let end = 0;
	for (let i = 1; i < at.nodes.length; i++) {
		if (!wanted.test(at.nodes[i]!.name))
			continue;
		found.is[i] = 1;
		found.count++;
		if (i >= end) {
			found.sum += at.width[i]!;
			end = at.end[i]!;
		}
	}
	return found;
}

/* Self value of all nodes by module, largest first. */
export function modules(nodes: Node[]): [name: string, self: number][] {
	const sums = new Map<string, number>();
	for (const node of nodes)
		sums.set(node.module, (sums.get(node.module) ?? 0) + node.self);
	return [...sums].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

export type Way = "parent" | "child" | "before" | "next";

/* The neighbour of a frame, however narrow that is; -1: there is none. */
export function neighbour(at: Layout, from: number, way: Way): number {
	const parent = at.nodes[from]!.parent;
	if (way === "parent")
		return parent ?? -1;
	if (way === "child")
		return from + 1 < at.end[from]! ? from + 1 : -1;
	if (parent === null)
		return -1;
	if (way === "next")
		return at.end[from]! < at.end[parent]! ? at.end[from]! : -1;
	let found = -1;
	for (let i = parent + 1; i < from; i = at.end[i]!)
		found = i;
	return found;
}
