/* sandwich.ts: one function with all of its callers and callees on every path: two trees made from a call tree. Under
 * recursion, only the outermost call counts, so nothing counts twice, and totals equal those of the section
 * `callers`. */
import type { Node, Tree } from "./data";
import { layout } from "./flame_layout";

interface Made {
	node: Node;
	below: Map<string, Made>;
}

function made(like: Node): Made {
	return { node: { ...like, parent: null, self: 0, total: 0, count: 0 }, below: new Map() };
}

function child(of: Made, like: Node): Made {
	const key = like.name + "\0" + like.module;
	let found = of.below.get(key);
	if (!found) {
		found = made(like);
		of.below.set(key, found);
	}
	return found;
}

function add(to: Made, from: Node, self: number): void {
	to.node.total += from.total;
	to.node.count += from.count;
	to.node.self += self;
}

/* Nodes are in depth-first order, children with the largest total first. The function does not recurse, because stacks
 * may be deep. */
function flat(root: Made): Node[] {
	const nodes: Node[] = [], left: [Made, number | null][] = [[root, null]];
	for (let next = left.pop(); next; next = left.pop()) {
		const [at, parent] = next;
		at.node.parent = parent;
		const place = nodes.push(at.node) - 1;
		for (const below of [...at.below.values()].sort((a, b) => a.node.total - b.node.total || (a.node.name < b.node.name ? 1 : -1)))
			left.push([below, place]);
	}
	return nodes;
}

/* The calls of a function that are not inside another call of it. */
function outermost(tree: Tree, name: string): number[] {
	const { end } = layout(tree), found: number[] = [];
	for (let i = 1; i < tree.nodes.length; )
		if (tree.nodes[i]!.name === name) {
			found.push(i);
			i = end[i]!;
		} else {
			i++;
		}
	return found;
}

function called(tree: Tree, calls: number[], root: Made): void {
	const { end } = layout(tree), places: Made[] = [];
	for (const call of calls) {
		places[call] = root;
		add(root, tree.nodes[call]!, tree.nodes[call]!.self);
		for (let i = call + 1; i < end[call]!; i++) {
			const node = tree.nodes[i]!;
			places[i] = child(places[node.parent!]!, node);
			add(places[i]!, node, node.self);
		}
	}
}

/* A caller's value is the function's value below it; its "self" is the part without a known caller. */
function calling(tree: Tree, calls: number[], root: Made): void {
	for (const call of calls) {
		const weight = tree.nodes[call]!;
		let at = root;
		add(at, weight, 0);
		for (let above = weight.parent; above; above = tree.nodes[above]!.parent) {
			at = child(at, tree.nodes[above]!);
			add(at, weight, 0);
		}
		at.node.self += weight.total;
	}
}

export interface Sandwich {
	callers: Tree;
	callees: Tree;
}

/* null: the function is not in the tree. */
export function sandwich(tree: Tree, name: string): Sandwich | null {
	const calls = outermost(tree, name), first = calls[0];
	if (first === undefined)
		return null;
	const up = made(tree.nodes[first]!), down = made(tree.nodes[first]!);
	calling(tree, calls, up);
	called(tree, calls, down);
	return { callers: { ...tree, nodes: flat(up) }, callees: { ...tree, nodes: flat(down) } };
}

/* All functions of a tree, those with the largest totals first. */
export function functionsOf(tree: Tree): string[] {
	const { end } = layout(tree), sums = new Map<string, number>(), until = new Map<string, number>();
	tree.nodes.forEach((node, i) => {
		if (!i || i < (until.get(node.name) ?? 0))
			return;
		until.set(node.name, end[i]!);
		sums.set(node.name, (sums.get(node.name) ?? 0) + node.total);
	});
	return [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name);
}
