import { Option } from "commander";
import { openIncidents, type CurrentStatus, type Incident } from "../../platform/status.ts";
import {
  currentStatus,
  latestUpdate,
  listIncidents,
  showIncident,
  STATUS_SETTINGS,
} from "../platform-status.ts";
import { momentAway } from "../wording.ts";
import type { KitCommand } from "./command.ts";
import type { Screen } from "./host.ts";
import { counted, examples, safe, wrapped } from "./text.ts";

interface Options {
  since?: string;
  perPage?: string;
  incident?: string;
}

export function addStatus(program: KitCommand): void {
  program
    .command("status")
    .option("--since <YYYY-MM-DD>", "the incidents since that day")
    .option("--per-page <n>", "as many incidents")
    .addOption(
      new Option("--incident <id>", "one incident with its whole story").conflicts(["since", "perPage"]),
    )
    .description("how the platform is: its status feed, which nothing of the service depends on")
    .addHelpText("after", examples("kit status", "kit status --since 2026-01-31", "kit status --incident 7"))
    .does(async (session, { since, perPage, incident }: Options) => {
      const settings = session.settings(STATUS_SETTINGS);
      if (incident !== undefined) {
        const { json, value } = await showIncident(settings, incident);
        return { data: json, show: (screen) => incidentText(screen, value, value.updates) };
      }
      if (since !== undefined || perPage !== undefined) {
        const { json, value } = await listIncidents(settings, { since, perPage });
        return { data: json, show: (screen) => listText(screen, value) };
      }
      const { json, value } = await currentStatus(settings);
      return { data: json, show: (screen) => currentText(screen, value) };
    });
}

function currentText(screen: Screen, current: CurrentStatus): string {
  const { status: systems, scheduled } = current;
  const open = openIncidents(current);
  const coming = scheduled.filter(({ resolved }) => !resolved);
  const width = Math.max(0, ...systems.map(({ system }) => system.length));
  const latest = (each: Incident) => `\n${incidentText(screen, each, [latestUpdate(each) ?? []].flat())}`;
  const count = open?.length ? `${counted(open.length, "incident")} open:` : "No incident is open.";
  return [
    ...systems.map((each) => `${safe(each.system).padEnd(width)}  ${icon(screen, each.status)}`),
    ...(systems.length === 0 ? ["The feed names no systems: how they are is not known."] : []),
    `\n${open === null ? "The feed has no list of incidents." : count}`,
    ...(open ?? []).map(latest),
    ...(coming.length > 0 ? ["\nMaintenance:", ...coming.map(latest)] : []),
  ].join("\n");
}

function listText(screen: Screen, incidents: Incident[]): string {
  const [first] = incidents;
  if (!first) return "There was no incident.";
  const end = `${counted(incidents.length, "incident")}. One with its story: kit status --incident ${first.id}`;
  return [...incidents.map((each) => `${incidentText(screen, each, [])}\n`), end].join("\n");
}

/** An incident with the given updates. Times are UTC, with their distance from now. */
function incidentText(screen: Screen, incident: Incident, updates: Incident["updates"]): string {
  const { columns, paint } = screen;
  const { id, title, state, resolved, created_at: begin, resolved_at: end, full_url: page } = incident;
  const word = safe(state ?? (resolved ? "resolved" : "open"));
  const head = paint.bold(safe([id === null ? "" : `#${id}`, title || "(no title)"].join(" ").trim()));
  const times = [
    begin && `${Date.parse(begin) > Date.now() ? "begins" : "opened"} ${momentAway(begin)}`,
    end && `resolved ${momentAway(end)}`,
  ].filter(Boolean);
  return [
    `${head}  ${resolved ? paint.green(word) : paint.red(word)}`,
    times.length > 0 ? `${times.join(", ")}, UTC` : "no times given",
    ...incident.systems.map(({ name, services, status }) => {
      const which = services.length > 0 ? ` (${services.join(", ")})` : "";
      return `${safe(name + which)}: ${icon(screen, status)}`;
    }),
    ...updates.flatMap(({ created_at: at, update_type: type, title: of, contents }) => [
      paint.dim(safe([at && momentAway(at), type, of].filter(Boolean).join("  "))),
      ...(contents === "" ? [] : [`  ${wrapped(safe(contents), columns, "    ")}`]),
    ]),
    ...(page ? [safe(page)] : []),
  ].join("\n  ");
}

/** The words of the status site's icons; any other status is shown unchanged. */
function icon({ paint }: Screen, status: string): string {
  if (status === "green") return paint.green("● Available");
  if (status === "yellow") return paint.yellow("▲ Performance Degradation");
  if (status === "red") return paint.red("■ Service Disruption");
  if (status === "blue" || status === "maintenance") return paint.blue("◆ Maintenance");
  return safe(status) || "–";
}
