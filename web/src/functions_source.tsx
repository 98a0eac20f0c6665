/* functions_source.tsx: the code of one function with its time: source lines, if the file is available and is the version that
 * was compiled, and instructions. Text from files and targets is only ever inserted as text. */
import type { ComponentChildren } from "preact";
import { type Report, type Row, type Table, table, text, value } from "./data";
import { clean, figure } from "./figure";
import { Await, Notes, useReport, useWorld } from "./parts";

const MOST = 3000;

/* A figure of a row; "" if the row has no samples. */
function told(section: Table, row: Row, key: string): string {
	const column = section.columns.find((at) => at.key === key), cell = value(row, key);
	return !column || typeof cell !== "number" ? "" : figure(column.unit, cell, row.plus_minus?.[key] ?? 0);
}

function Cost({ section, row, keys }: { section: Table; row: Row; keys: string[] }) {
	return <>{keys.map((key) => <td class="figure">{told(section, row, key)}</td>)}</>;
}

const own = (row: Row) => Number(value(row, "self_ns") ?? 0);
const hottest = (section: Table) => section.rows.reduce((sum, row) => Math.max(sum, own(row)), 0);

/* The background of a row: its share of the hottest row's time. */
function heat(most: number, row: Row): string {
	return own(row) <= 0 || most <= 0 ? "" : own(row) > most / 2 ? "hot" : own(row) > most / 10 ? "warm" : "";
}

function Code({ label, heads, children }: { label: string; heads: [title: string, kind: string][]; children: ComponentChildren }) {
	return (
		<div class="grid code" tabIndex={0} role="region" aria-label={clean(label)}>
			<table>
				<thead><tr>{heads.map(([title, kind]) => <th scope="col" class={kind}>{title}</th>)}</tr></thead>
				<tbody>{children}</tbody>
			</table>
		</div>
	);
}

/* --- source lines ------------------------------------------------------------------------------------------------------ */

/* Replaces tabs by four spaces, and escapes characters that could deceive. */
const source = (line: string) => line.split("\t").map(clean).join("    ");

function LinesTable({ section }: { section: Table }) {
	const why = section.rows.map((row) => row.absent?.["source"]).find((reason) => reason);
	const most = hottest(section), files = [...new Set(section.rows.map((row) => text(row, "file")))];
	return (
		<>
			{why && <p class="count" data-why="source">{clean(why).replace(/^./, (first) => first.toUpperCase())}: only line numbers are shown.</p>}
			{files.map((file) => {
				const rows = section.rows.filter((row) => text(row, "file") === file);
				return (
					<>
						<p class="file"><code>{file ? clean(file) : "unknown file"}</code></p>
						<Code label={`${section.title}: ${clean(file)}`} heads={[["line", "figure"], ["self", "figure"], ["self time", "figure"], ["total time", "figure"], ["samples", "figure"], ["source", "text"]]}>
							{rows.map((row, i) => {
								const gap = i > 0 && Number(value(row, "line") ?? 0) > Number(value(rows[i - 1]!, "line") ?? 0) + 1;
								return (
									<>
										{gap && <tr class="gap"><td colSpan={6}>⋯</td></tr>}
										<tr class={heat(most, row)}>
											<td class="figure">{value(row, "line") ?? "–"}</td>
											<Cost section={section} row={row} keys={["self_share", "self_ns", "total_ns", "samples"]} />
											<td class="text">{source(text(row, "source"))}</td>
										</tr>
									</>
								);
							})}
						</Code>
					</>
				);
			})}
			{section.omitted > 0 && <p class="count">{figure("count", section.omitted)} more lines are in the recording.</p>}
			<Notes notes={section.notes} />
		</>
	);
}

export function Lines() {
	return <OfFunction id="lines" draw={(section) => <LinesTable section={section} />} />;
}

/* --- instructions ------------------------------------------------------------------------------------------------------- */

const fileName = (path: string) => clean(path.replace(/^.*\//, ""));

function InstructionsTable({ section }: { section: Table }) {
	const most = hottest(section), inlined = section.rows.some((row) => text(row, "function"));
	const heads: [string, string][] = [["address", "figure"], ["self", "figure"], ["self time", "figure"], ["with callees", "figure"], ["samples", "figure"], ["instruction", "text"]];
	return (
		<>
			<Code label={section.title} heads={[...heads, ...(inlined ? [["inlined from", "text"] as [string, string]] : []), ["line", "text"]]}>
				{section.rows.map((row) => (
					<tr class={heat(most, row)}>
						<td class="figure">{told(section, row, "address")}</td>
						<Cost section={section} row={row} keys={["self_share", "self_ns", "total_ns", "samples"]} />
						<td class="text">{text(row, "instruction") ? clean(text(row, "instruction")) : "–"}</td>
						{inlined && <td class="text">{clean(text(row, "function"))}</td>}
						<td class="text" title={clean(text(row, "file"))}>{text(row, "line") && `${fileName(text(row, "file"))}:${text(row, "line")}`}</td>
					</tr>
				))}
			</Code>
			{section.omitted > 0 && <p class="count">{figure("count", section.omitted)} more instructions of the function are not shown: they are farther from its hottest one.</p>}
			<Notes notes={section.notes} />
		</>
	);
}

export function Instructions() {
	return <OfFunction id="assembly" draw={(section) => <InstructionsTable section={section} />} />;
}

function OfFunction({ id, draw }: { id: string; draw: (section: Table) => ComponentChildren }) {
	const { selection } = useWorld();
	const answer = useReport([id], { ...selection, weigh: "" }, MOST);
	return (
		<Await answer={answer}>
			{(report: Report) => {
				const section = table(report, id);
				return !section ? <p class="wait">No functions were sampled.</p> : section.rows.length ? <>{!selection.focus && <p class="lead">{clean(section.title)}</p>}{draw(section)}</> : <Notes notes={section.notes} />;
			}}
		</Await>
	);
}
