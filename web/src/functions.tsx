/* functions.tsx: the page `functions`: all functions as a table and, for the selected or hottest one, its callers and callees,
 * and its source lines or instructions with their time. */
import type { VNode } from "preact";
import { type Report, table } from "./data";
import { clean, only } from "./figure";
import { Instructions, Lines } from "./functions_source";
import { Await, Notes, useReport, useWorld } from "./parts";
import { elsewhere, link } from "./selection";
import { linked, OneTable } from "./sections";
import { DataTable, filled } from "./table";

const MOST = 100000, CALLERS = 200;

function Callers() {
	const { selection } = useWorld();
	const answer = useReport(["callers"], selection, CALLERS);
	return (
		<Await answer={answer}>
			{(report) => {
				const found = table(report, "callers");
				return found ? (
					<>
						<DataTable table={filled(found)} drawn={{ render: linked, most: 12 }} />
						<Notes notes={found.notes} />
					</>
				) : <p class="wait">It has no callers and no callees.</p>;
			}}
		</Await>
	);
}

/* The view of one function: `view` in the hash. */
const SIDES: [view: string, title: string, section: string, show: () => VNode][] = [
	["", "Callers and callees", "callers", () => <Callers />],
	["source", "Source lines", "lines", () => <Lines />],
	["assembly", "Instructions", "assembly", () => <Instructions />],
];

function OneFunction() {
	const { selection, recording } = useWorld();
	const side = SIDES.find(([view]) => view === selection.view) ?? SIDES[0]!;
	const there = SIDES.filter(([, , section]) => recording.sections.includes(section));
	return (
		<section aria-labelledby="callers">
			<h2 id="callers">{side[1]} of {selection.focus ? <code>{clean(selection.focus)}</code> : "the hottest function"}</h2>
			<p class="sides-of">
				{there.map(([view, title]) => <a href={link({ ...selection, view })} aria-current={view === side[0] ? "true" : undefined}>{title}</a>)}
				{selection.focus && <a href={elsewhere(selection, "flame", { search: only(selection.focus) })}>Find it in the flame graph</a>}
				{selection.focus && <a href={elsewhere(selection, "flame", { view: "sandwich", focus: selection.focus })}>All callers and callees as flame graphs</a>}
			</p>
			{side[3]()}
		</section>
	);
}

function All({ report }: { report: Report }) {
	const found = table(report, "functions");
	return found ? <OneTable section={found} most={15} /> : <p class="wait">No functions were sampled.</p>;
}

export function Functions() {
	const { selection } = useWorld();
	const answer = useReport(["functions"], { ...selection, focus: "", weigh: "" }, MOST);
	return (
		<>
			<h1>Functions</h1>
			<Await answer={answer}>{(report) => <All report={report} />}</Await>
			<OneFunction />
		</>
	);
}
