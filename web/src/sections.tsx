/* sections.tsx: a section as tables with notes and a filter; and the generic page for sections that have no page of
 * their own, so that everything recorded can be reached. */
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { type Column, type Report, type Row, type Section, type Table, text } from "./data";
import { clean } from "./figure";
import { Await, Notes, useReport, useWorld } from "./parts";
import { link, refine } from "./selection";
import { Count, DataTable, type Drawn, filled, Filter, namesFirst } from "./table";

const MOST = 20000;

/* The name of a function as a link to its callers. */
export function linked(row: Row, column: Column): VNode | undefined {
	return column.key === "function" && text(row, "function") ? <FunctionLink name={text(row, "function")} /> : undefined;
}

function FunctionLink({ name }: { name: string }) {
	const { selection } = useWorld();
	const now = selection.page === "functions" ? selection : { ...selection, search: "", view: "" };
	return <a href={link({ ...now, page: "functions", section: "", weigh: "", focus: name })}>{clean(name)}</a>;
}

/* A table with its notes and a field that filters it. */
export function OneTable({ section, most, render }: { section: Table; most?: number; render?: Drawn["render"] }) {
	const { selection } = useWorld();
	const shown = useMemo(() => namesFirst(filled(section)), [section]);
	const words = selection.search, small = section.rows.length < 8 && !words;
	return (
		<>
			{!small && (
				<div class="tools">
					<Filter words={words} label="Filter, a regular expression" onWords={(search) => refine(selection, { search })} />
					<Count table={section} filter={words} />
				</div>
			)}
			<DataTable table={shown} drawn={{ filter: words, render: render ?? linked, chosen: (row) => !!selection.focus && text(row, "function") === selection.focus, most }} />
			<Notes notes={section.notes} />
		</>
	);
}

/* Converts a tree to a table. */
function asTable(section: Section): Table {
	if (section.kind === "table")
		return section;
	const rows = section.nodes.map((node) => ({ total: node.total, self: node.self, count: node.count, function: node.name || "all", module: node.module, file: node.file }));
	return {
		id: section.id, title: section.title, kind: "table", notes: section.notes, omitted: 0, rows,
		columns: [
			{ key: "total", title: section.value, unit: section.unit, basis: "measured" },
			{ key: "self", title: "self", unit: section.unit, basis: "measured" },
			{ key: "count", title: "count", unit: "count", basis: "measured" },
			{ key: "function", title: "frame", unit: "text", basis: "measured" },
			{ key: "module", title: "module", unit: "text", basis: "measured" },
			{ key: "file", title: "file", unit: "text", basis: "measured" },
		],
	};
}

function Parts({ report }: { report: Report }) {
	const tables = useMemo(() => report.sections.map(asTable), [report]);
	if (!tables.length)
		return <p class="wait">The recording has no such data.</p>;
	return <>{tables.map((section, i) => <section>{(i > 0 || tables.length > 1) && <h2>{clean(section.title)}</h2>}<OneTable section={section} /></section>)}</>;
}

export function AnySection() {
	const { selection } = useWorld();
	/* For the section `timeline`, a limit would set the number of intervals. */
	const most = selection.section === "timeline" ? undefined : MOST;
	const answer = useReport([selection.section], { ...selection, weigh: "" }, most);
	const title = answer.report?.sections[0]?.title;
	return (
		<>
			<h1>{clean(title ?? titleOf(selection.section))}</h1>
			<Await answer={answer}>{(report) => <Parts report={report} />}</Await>
		</>
	);
}

/* The title of a section: "io-phases" becomes "I/O phases" and so on. */
export function titleOf(section: string): string {
	const words = section.replace(/-/g, " ").replace(/\bio\b/, "I/O").replace(/\bflop\b/, "FLOP").replace(/\brss\b/, "RSS");
	return clean(words.replace(/^./, (first) => first.toUpperCase()));
}
