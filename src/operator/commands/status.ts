import { Option } from "commander";
import { withHttp } from "../../platform/http.ts";
import {
  currentStatus,
  incident as oneIncident,
  incidents as listed,
  latestUpdate,
  openIncidents,
  type CurrentStatus,
  type Incident,
} from "../../platform/status.ts";
import { UsedWrongly } from "../errors.ts";
import { moment } from "../wording.ts";
import type { KitCommand } from "./session.ts";
import type { Screen } from "./host.ts";
import { counted, safe, safeLines } from "./text.ts";

interface Options {
  since?: string;
  perPage?: number;
  incident?: string;
}

function day(text: string): string {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) throw new UsedWrongly("--since takes a day, like 2026-01-31.");
  return text;
}

function count(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsedWrongly("--per-page takes a whole number from 1 on.");
  return Number(text);
}

export function addStatus(program: KitCommand): void {
  program
    .command("status")
    .option("--since <YYYY-MM-DD>", "the incidents since that day", day)
    .option("--per-page <n>", "as many incidents", count)
    .addOption(
      new Option("--incident <id>", "one incident with its whole story").conflicts(["since", "perPage"]),
    )
    .description("how the platform is: its status feed, which nothing of the service depends on")
    .does((session, { since, perPage, incident }: Options) => {
      const { platformStatusUrl: statusUrl } = session.settings(["platformStatusUrl"]);
      return withHttp(async (http) => {
        const feed = { http, statusUrl };
        if (incident !== undefined) {
          const { json, value } = await oneIncident(feed, incident);
          return { data: json, show: (screen) => incidentText(screen, value, value.updates) };
        }
        if (since !== undefined || perPage !== undefined) {
          const { json, value } = await listed(feed, { since, perPage });
          const end = `${counted(value.length, "incident")}. One with its story: kit status --incident ID`;
          return {
            data: json,
            show: (screen) => [...value.map((each) => incidentText(screen, each, [])), end].join("\n"),
          };
        }
        const { json, value } = await currentStatus(feed);
        return { data: json, show: (screen) => currentText(screen, value) };
      });
    });
}

function currentText(screen: Screen, current: CurrentStatus): string {
  const open = openIncidents(current);
  const coming = current.scheduled.filter(({ resolved }) => !resolved);
  const latest = (each: Incident) => incidentText(screen, each, [latestUpdate(each) ?? []].flat());
  return [
    ...current.status.map(({ system, status }) => `${safe(system)}: ${icon(screen, status)}`),
    open === null ? "The feed has no list of incidents." : `${counted(open.length, "incident")} open.`,
    ...(open ?? []).map(latest),
    ...(coming.length > 0 ? ["Maintenance:", ...coming.map(latest)] : []),
  ].join("\n");
}

function incidentText({ paint }: Screen, incident: Incident, updates: Incident["updates"]): string {
  const { id, title, state, resolved, created_at: begin } = incident;
  const word = resolved ? "resolved" : (state ?? "open");
  const named = id === null ? title : `#${id} ${title}`;
  return [
    `${paint.bold(safe(named))}  ${safe(word)}${begin ? `, since ${moment(begin)}` : ""}`,
    ...updates.map(({ created_at: at, update_type: type, contents }) =>
      safeLines([at && moment(at), type, contents].filter(Boolean).join("  "), "    "),
    ),
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
