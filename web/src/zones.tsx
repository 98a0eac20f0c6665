/* zones.tsx: the page `zones`: statistics of zones and spans and, for the selected one or the one with the most time, the
 * durations of its instances. */
import { useMemo } from "preact/hooks";
import { type Column, type Row, table, text } from "./data";
import { clean } from "./figure";
import { Await, useReport, useWorld } from "./parts";
import { link } from "./selection";
import { OneTable } from "./sections";
import { ZoneHistogram } from "./zones_histogram";

const MOST = 20000;

function ZoneLink({ name }: { name: string }) {
	const { selection } = useWorld();
	return <a href={link({ ...selection, focus: name, view: "" })}>{clean(name)}</a>;
}

const linked = (row: Row, column: Column) => (column.key === "zone" || column.key === "span") && text(row, column.key) ? <ZoneLink name={text(row, column.key)} /> : undefined;

export function Zones() {
	const { selection, recording } = useWorld();
	const wanted = useMemo(() => ["zones", "spans"].filter((section) => recording.sections.includes(section)), [recording]);
	const answer = useReport(wanted.length ? wanted : ["zones"], { ...selection, focus: "", weigh: "" }, MOST);
	return (
		<>
			<h1>Zones</h1>
			<Await answer={answer}>
				{(report) => {
					const zones = table(report, "zones"), spans = table(report, "spans");
					const part = selection.thread || selection.from || selection.to;
					return (
						<>
							{zones && (zones.rows.length || !part) ? <OneTable section={zones} most={12} render={linked} />
								: <p class="wait">{part ? "No zone ended in the selected threads and time." : "The program has no zones."}</p>}
							{spans && (spans.rows.length > 0 || !part) && <section aria-labelledby="spans"><h2 id="spans">Spans</h2><OneTable section={spans} most={8} render={linked} /></section>}
						</>
					);
				}}
			</Await>
			{recording.sections.includes("zone-histogram") && <ZoneHistogram />}
		</>
	);
}
