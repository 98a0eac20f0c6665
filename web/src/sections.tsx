/* sections.tsx: pages that are tables: functions with callers of the chosen one, zones, and any other section of the
 * report as it is, so that nothing that was recorded is out of reach. */
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { type Column, type Report, type Row, type Section, type Table, table, text } from "./data";
import { clean, only } from "./figure";
import { Await, Notes, useReport, useWorld } from "./parts";
import { elsewhere, link, refine } from "./selection";
import { Count, DataTable, filled, Filter, namesFirst } from "./table";

const MOST = 20000, CALLERS = 200;

/* The name of a function as a link to what calls it. */
function linked(row: Row, column: Column): VNode | undefined {
	return column.key === "function" && text(row, "function") ? <FunctionLink name={text(row, "function")} /> : undefined;
}

function FunctionLink({ name }: { name: string }) {
	const { selection } = useWorld();
	const now = selection.page === "functions" ? selection : { ...selection, search: "" };
	return <a href={link({ ...now, page: "functions", section: "", weigh: "", focus: name })}>{clean(name)}</a>;
}

/* A table with its notes and a field that filters it. */
export function OneTable({ section, most }: { section: Table; most?: number }) {
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
			<DataTable table={shown} drawn={{ filter: words, render: linked, chosen: (row) => !!selection.focus && text(row, "function") === selection.focus, most }} />
			<Notes notes={section.notes} />
		</>
	);
}

function Callers() {
	const { selection } = useWorld();
	const answer = useReport(["callers"], selection, CALLERS);
	return (
		<section aria-labelledby="callers">
			<h2 id="callers">Callers and callees of {selection.focus ? <code>{clean(selection.focus)}</code> : "the hottest function"}</h2>
			{selection.focus && <p><a href={elsewhere(selection, "flame", { search: only(selection.focus) })}>Find it in the flame graph</a></p>}
			<Await answer={answer}>
				{(report) => {
					const found = table(report, "callers");
					return found ? (
						<>
							<DataTable table={filled(found)} drawn={{ render: linked, most: 12 }} />
							<Notes notes={found.notes} />
						</>
					) : <p class="wait">Nothing calls it, and it calls nothing.</p>;
				}}
			</Await>
		</section>
	);
}

export function Functions() {
	const { selection } = useWorld();
	const answer = useReport(["functions"], { ...selection, focus: "", weigh: "" }, MOST);
	return (
		<>
			<h1>Functions</h1>
			<Await answer={answer}>
				{(report) => {
					const found = table(report, "functions");
					return found ? <OneTable section={found} most={15} /> : <p class="wait">No function was sampled.</p>;
				}}
			</Await>
			<Callers />
		</>
	);
}

export function Zones() {
	const { selection } = useWorld();
	const answer = useReport(["zones"], { ...selection, focus: "", weigh: "" }, MOST);
	return (
		<>
			<h1>Zones</h1>
			<Await answer={answer}>
				{(report) => {
					const found = table(report, "zones");
					return found ? <OneTable section={found} /> : <p class="wait">The program has begun no zone.</p>;
				}}
			</Await>
		</>
	);
}

/* A tree in a table's clothes. */
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
		return <p class="wait">The recording has nothing of this.</p>;
	return <>{tables.map((section, i) => <section>{(i > 0 || tables.length > 1) && <h2>{clean(section.title)}</h2>}<OneTable section={section} /></section>)}</>;
}

export function AnySection() {
	const { selection } = useWorld();
	/* Of a timeline it would be the number of intervals. */
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

/* "io-phases" as people say it. */
export function titleOf(section: string): string {
	const words = section.replace(/-/g, " ").replace(/\bio\b/, "I/O").replace(/\bflop\b/, "FLOP").replace(/\brss\b/, "RSS");
	return clean(words.replace(/^./, (first) => first.toUpperCase()));
}
