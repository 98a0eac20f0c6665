/* roofline_devices.tsx: theoretical ceilings of GPUs (section `device-roofs`): a chart for each GPU, or one chart for
 * several GPUs that are alike. Each chart has its own axes. Nothing is measured, so all lines are dashed; the FLOP and
 * bytes of kernels are unknown, so there are no points, and the page says so. */
import { useMemo, useState } from "preact/hooks";
import type { Table } from "./data";
import { clean, figure } from "./figure";
import { Notes } from "./parts";
import { Axes, Ceilings, rateOf, useWidth } from "./roofline_picture";
import { type DeviceCeilings, devicesOf, deviceScaleOf } from "./roofline_scale";
import { DataTable } from "./table";

const PANELS_MOST = 8, NAMES_MOST = 16;

/* "CUDA G1 0, 1, 2": all devices after the first are listed by number only. */
function namesOf({ names }: DeviceCeilings): string {
	const numbers = names.slice(1, NAMES_MOST).map((name) => clean(name.slice(name.lastIndexOf(" ") + 1)));
	return [clean(names[0] ?? ""), ...numbers].join(", ") + (names.length > NAMES_MOST ? ` and ${figure("count", names.length - NAMES_MOST)} more` : "");
}

function Panel({ device, at }: { device: DeviceCeilings; at: number }) {
	const { box, width } = useWidth(), height = width < 600 ? 280 : 330, scale = useMemo(() => deviceScaleOf(device.ceilings, width, height), [device, width, height]);
	const said = device.ceilings.map((ceiling) => `${clean(ceiling.name)} ${rateOf(ceiling)}`).join(", ");
	return (
		<section aria-labelledby={`device-roof-${at}`} data-device={device.names.join("|")}>
			<h2 id={`device-roof-${at}`}>{namesOf(device)}</h2>
			<div class="roofline" ref={box}>
				<svg width={width} height={height} role="img" aria-label={`Theoretical ceilings of ${namesOf(device)}: ${said}. The same data is available as a table.`}>
					<Axes scale={scale} />
					<Ceilings ceilings={device.ceilings} scale={scale} />
				</svg>
			</div>
			<p class="count">Theoretical: {said}.{device.unknown.length > 0 && ` Unknown: ${device.unknown.map(clean).join(", ")}; the table gives the reasons.`}</p>
		</section>
	);
}

export function DeviceRoofs({ roofs }: { roofs: Table }) {
	const devices = useMemo(() => devicesOf(roofs), [roofs]), [asTable, show] = useState(false), shown = devices.slice(0, PANELS_MOST);
	const left = devices.slice(PANELS_MOST).reduce((count, { names }) => count + names.length, 0);
	return (
		<section aria-labelledby="device-roofs">
			<h2 id="device-roofs">GPU ceilings</h2>
			{devices.length > 0 && <div class="tools"><label><input type="checkbox" checked={asTable} onChange={() => show(!asTable)} /> GPU ceilings as table</label></div>}
			{asTable && devices.length > 0 ? <DataTable table={roofs} drawn={{ label: "Theoretical GPU ceilings" }} /> : (
				<>
					{devices.length > 0 && <p class="count" data-fact="no-kernels">Dashed: computed from the driver's attributes, not measured. Kernels are not shown: their FLOP and bytes need GPU counters, which are not read.</p>}
					{shown.map((device, at) => <Panel device={device} at={at} />)}
					{left > 0 && <p class="count">{figure("count", left)} more {left === 1 ? "is" : "are"} only in the table.</p>}
				</>
			)}
			<Notes notes={roofs.notes} />
		</section>
	);
}
