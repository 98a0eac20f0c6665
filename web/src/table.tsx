/* table.tsx: any table of a report: sorted by a click on a column, filtered by words, and rendered only where visible, so that a
 * hundred thousand rows scroll like ten. Column widths follow from the first rows, so that scrolling moves nothing. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { type Column, type Row, type Table, value } from "./data";
import { clean, figure, invalid, matcher } from "./figure";
import { said, useWorld, why } from "./parts";
import { refine } from "./selection";

const ROW = 28, HEAD = 30, SPARE = 8, MEASURED = 400;

export interface Drawn {
	render?: (row: Row, column: Column) => ComponentChildren; /* returns undefined for the default rendering */
	chosen?: (row: Row) => boolean;
	filter?: string;
	label?: string;
	most?: number; /* maximum visible rows */
}

const BASIS = { measured: "", estimated: "estimated", modelled: "modelled" };

function compare(column: Column, up: boolean) {
	return (a: Row, b: Row): number => {
		const left = value(a, column.key), right = value(b, column.key);
		if (left === null || right === null)
			return left === right ? 0 : left === null ? 1 : -1; /* unknown values come last */
		const order = typeof left === "number" && typeof right === "number" ? left - right : String(left) < String(right) ? -1 : left === right ? 0 : 1;
		return up ? order : -order;
	};
}

function found(table: Table, words: string): Row[] {
	const wanted = matcher(words);
	if (!wanted)
		return table.rows;
	const texts = table.columns.filter((column) => column.unit === "text");
	return table.rows.filter((row) => texts.some((column) => wanted.test(String(value(row, column.key) ?? ""))));
}

/* Column widths in characters; texts get at most 60. */
function widths(table: Table): number[] {
	const some = table.rows.slice(0, MEASURED);
	return table.columns.map((column) => {
		const most = some.reduce((longest, row) => Math.max(longest, said(row, column).length), 1);
		return Math.max(column.title.length * 1.1 + (column.basis === "measured" ? 3 : 5), Math.min(most, 60) + (column.unit === "text" ? 4 : 2)); /* letters can be wider than the digit 0, whose width is 1ch */;
	});
}

/* A column with the same empty content in every row is left out. */
export function filled(table: Table): Table {
	const columns = table.columns.filter((column) => table.rows.some((row) => value(row, column.key) !== null));
	return columns.length === table.columns.length || !columns.length ? table : { ...table, columns };
}

/* In a table that is too wide for the window, names come first, so that they stay visible while figures scroll. */
export function namesFirst(table: Table): Table {
	if (table.columns.length <= 10 || table.columns[0]?.unit === "text")
		return table;
	const isName = (column: Column) => column.unit === "text" || column.unit === "id";
	return { ...table, columns: [...table.columns.filter(isName), ...table.columns.filter((column) => !isName(column))] };
}

function Cell({ row, column, drawn }: { row: Row; column: Column; drawn: Drawn }) {
	const own = drawn.render?.(row, column);
	const cell = value(row, column.key), words = said(row, column);
	const share = column.unit === "ratio" && typeof cell === "number" && cell >= 0;
	return (
		<td class={column.unit === "text" ? "text" : "figure"} title={cell === null ? why(row, column) : column.unit === "text" ? words : undefined}>
			{share && <span class="bar" style={{ width: `${Math.min(1, cell) * 100}%` }} />}
			{own ?? (cell === null ? <span class="absent">{words}</span> : words)}
		</td>
	);
}

interface Sort {
	key: string;
	up: boolean;
}

/* The sort order of a table, stored in the URL: only one table of a page can have its own order at a time. */
function useSort(id: string): [sort: Sort | null, set: (sort: Sort | null) => void] {
	const { selection } = useWorld();
	const of = selection.sort.startsWith(id + ":") ? selection.sort.slice(id.length + 1) : "";
	const sort = useMemo(() => (of ? { key: of.replace(/^-/, ""), up: of.startsWith("-") } : null), [of]);
	return [sort, (to) => refine(selection, { sort: to ? `${id}:${to.up ? "-" : ""}${to.key}` : "" })];
}

export function DataTable({ table, drawn = {} }: { table: Table; drawn?: Drawn }) {
	const [sort, setSort] = useSort(table.id);
	const [view, setView] = useState({ top: 0, height: 600 });
	const box = useRef<HTMLDivElement>(null);
	const sizes = useMemo(() => widths(table), [table]);
	const rows = useMemo(() => {
		const some = found(table, drawn.filter ?? "");
		const column = table.columns.find((at) => at.key === sort?.key);
		return column && sort ? [...some].sort(compare(column, sort.up)) : some;
	}, [table, drawn.filter, sort]);
	useLayoutEffect(() => {
		if (box.current) {
			box.current.scrollTop = 0;
			setView({ top: 0, height: box.current.clientHeight || 600 });
		}
	}, [table, drawn.filter, sort]);
	const first = Math.max(0, Math.floor(view.top / ROW) - SPARE);
	const last = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW) + SPARE);
	const turn = (column: Column) =>
		setSort(sort?.key !== column.key ? { key: column.key, up: column.unit === "text" } : sort.up === (column.unit === "text") ? { ...sort, up: !sort.up } : null);
	const total = sizes.reduce((sum, size) => sum + size, 0);
	return (
		<div class="grid" ref={box} tabIndex={0} role="region" aria-label={clean(drawn.label ?? table.title)}
			style={{ maxHeight: `${HEAD + (drawn.most ?? 20) * ROW + 14}px` }}
			onScroll={(event) => setView({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })}>
			<table aria-rowcount={rows.length + 1} style={{ minWidth: `${total}ch` }}>
				<colgroup>
					{sizes.map((size) => <col style={{ width: `${size}ch` }} />)}
				</colgroup>
				<thead>
					<tr aria-rowindex={1}>
						{table.columns.map((column) => (
							<th scope="col" class={column.unit === "text" ? "text" : "figure"}
								aria-sort={sort?.key !== column.key ? "none" : sort.up ? "ascending" : "descending"}>
								<button type="button" onClick={() => turn(column)} title={BASIS[column.basis]}>
									{column.basis !== "measured" && <span aria-hidden="true">≈ </span>}
									{clean(column.title || column.key)}
									<span class="way" aria-hidden="true">{sort?.key !== column.key ? "" : sort.up ? "▲" : "▼"}</span>
								</button>
							</th>
						))}
					</tr>
				</thead>
				<tbody>
					{first > 0 && <tr aria-hidden="true" style={{ height: `${first * ROW}px` }} />}
					{rows.slice(first, last).map((row, i) => (
						<tr key={first + i} aria-rowindex={first + i + 2} class={drawn.chosen?.(row) ? "chosen" : ""}>
							{table.columns.map((column) => <Cell row={row} column={column} drawn={drawn} />)}
						</tr>
					))}
					{last < rows.length && <tr aria-hidden="true" style={{ height: `${(rows.length - last) * ROW}px` }} />}
				</tbody>
			</table>
			{!rows.length && <p class="wait">{table.rows.length ? "No matches." : "No rows."}</p>}
		</div>
	);
}

/* How many rows there are, and how many of them are shown. */
export function Count({ table, filter }: { table: Table; filter: string }) {
	const shown = found(table, filter).length, all = table.rows.length;
	return (
		<span class="count" role="status">
			{filter ? `${figure("count", shown)} of ` : ""}{figure("count", all)} {all === 1 ? "row" : "rows"}
			{table.omitted > 0 && `, ${figure("count", table.omitted)} more in the recording`}
		</span>
	);
}

export function Filter({ words, onWords, label }: { words: string; onWords: (words: string) => void; label: string }) {
	const wrong = invalid(words), id = useId();
	return (
		<>
			<input class="search" type="search" value={words} placeholder={label} aria-label={label} aria-invalid={wrong ? "true" : undefined} aria-describedby={wrong ? id : undefined}
				onInput={(event) => onWords(event.currentTarget.value)} />
			{wrong && <span class="invalid" id={id} role="status">No regular expression ({wrong}): searching for the plain text.</span>}
		</>
	);
}
