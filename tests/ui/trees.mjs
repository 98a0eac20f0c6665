/* trees.mjs: synthetic call trees in a report in one file: for behaviour that depends on the number of frames. */
import { readFileSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";

const PLAIN = 'id="sonde-data">', PACKED = 'id="sonde-data-gzip">';

/* A page like `html` (of sonde report -f html), whose call tree has these nodes: depth first. */
export function withTree(html, nodes, out) {
	const text = readFileSync(html, "utf8"), packed = text.includes(PACKED), open = packed ? PACKED : PLAIN;
	const from = text.indexOf(open) + open.length, to = text.indexOf("</script>", from), held = text.slice(from, to);
	const data = JSON.parse(packed ? gunzipSync(Buffer.from(held, "base64")) : held);
	const section = { ...data.report.sections.find((at) => at.id === "calltree"), nodes };
	data.report.sections = [...data.report.sections.filter((at) => at.id !== "calltree"), section];
	const written = JSON.stringify(data);
	writeFileSync(out, text.slice(0, from) + (packed ? gzipSync(written).toString("base64") : written.replace(/</g, "\\u003c")) + text.slice(to));
}

const node = (parent, name, total, self) => ({ parent, name, module: `lib${name.length % 7}.so`, file: "", line: 0, self, total, count: 1 });

/* "wide" has nearly all of the total; next to it are `count` calls with a millionth each, each of which calls
 * "leaf". */
export function narrow(count) {
	const each = 1000, wide = count * each * 1e6, nodes = [node(null, "", wide + count * each, 0), node(0, "wide", wide, wide)];
	for (let i = 0; i < count; i++)
		nodes.push(node(0, `narrow_${i}`, each, 0), node(nodes.length, "leaf", each, each));
	return nodes;
}

/* About `count` frames by a generator with a seed: 40 deep, 2 to 5 calls of unlike size each: most are tiny, as in programs. */
export function bushy(count) {
	const nodes = [node(null, "", 1e12, 0)];
	let seed = 12345;
	const random = () => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) / 2 ** 32;
	const grow = (parent, total, depth, room) => {
		const parts = Array.from({ length: depth > 40 || room < 1 ? 0 : 2 + Math.floor(random() * 4) }, () => random() ** 3 + 0.001);
		const sum = parts.reduce((all, part) => all + part, 0.02);
		let used = 0;
		for (const part of parts) {
			const wide = Math.floor((total * part) / sum);
			used += wide;
			grow(nodes.push(node(parent, `function_${Math.floor(random() * 3000)}`, wide, 0)) - 1, wide, depth + 1, ((room - parts.length) * part) / sum);
		}
		nodes[parent].self = total - used;
	};
	grow(0, 1e12, 1, count);
	return nodes;
}

/* The worst case: `count` frames, 50 deep, each 1/2000 as wide as the picture: all of them are drawn. */
export function dense(count) {
	const columns = Math.floor(count / 50), nodes = [node(null, "", columns * 1000, 0)];
	for (let i = 0; i < columns; i++)
		for (let depth = 0; depth < 50; depth++)
			nodes.push(node(depth ? nodes.length - 1 : 0, `function_${(i * 7 + depth * 13) % 3000}`, 1000, depth === 49 ? 1000 : 0));
	return nodes;
}
