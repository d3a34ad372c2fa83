import type { Incident, SystemStatus } from "../platform-status.ts";
import type { Screen } from "./screen.ts";
import { momentAway, safe, wrapped } from "./text.ts";

type Update = Incident["updates"][number];

/** An incident with the given updates. Times are UTC, with their distance from now. */
export function incidentText(screen: Screen, incident: Incident, updates: readonly Update[]): string {
  const { systems, full_url: page } = incident;
  const affected = systems.map(({ name, services, status }) => {
    const which = services.length > 0 ? ` (${safe(services.join(", "))})` : "";
    return `${safe(name)}${which}: ${icon(screen, status)}`;
  });
  const lines = [span(incident), ...affected, ...updates.flatMap((each) => story(screen, each))];
  return [headline(screen, incident), ...lines, ...(page ? [safe(page)] : [])].join("\n  ");
}

/** The latest update; empty if there is none. */
export function latestUpdate({ updates }: Incident): Update[] {
  const at = ({ created_at: time }: Update) => Date.parse(time ?? "") || 0;
  return [...updates].sort((one, other) => at(other) - at(one)).slice(0, 1);
}

/** The words of the status site's icons; any other status is shown unchanged. */
export function icon({ paint }: Screen, status: SystemStatus): string {
  if (status === "green") return paint.green("● Available");
  if (status === "yellow") return paint.yellow("▲ Performance Degradation");
  if (status === "red") return paint.red("■ Service Disruption");
  if (status === "blue" || status === "maintenance") return paint.blue("◆ Maintenance");
  return safe(status) || "–";
}

function headline({ paint }: Screen, { id, title, state, resolved }: Incident): string {
  const word = safe(state ?? (resolved ? "resolved" : "open"));
  return `${paint.bold(`${id === null ? "" : `#${safe(String(id))} `}${safe(title) || "(no title)"}`)}  ${resolved ? paint.green(word) : paint.red(word)}`;
}

function span(incident: Incident): string {
  const { created_at: opened, resolved_at: ended } = incident;
  const now = nowOf(incident);
  const begin = opened && Date.parse(opened) > now ? "begins" : "opened";
  const times = [
    opened && `${begin} ${momentAway(opened, now)}`,
    ended && `resolved ${momentAway(ended, now)}`,
  ].filter(Boolean);
  return times.length > 0 ? `${times.join(", ")}, UTC` : "no times given";
}

/** Now by the platform's clock, as far as is known: no update was written later. */
function nowOf({ updates }: Pick<Incident, "updates">): number {
  return Math.max(Date.now(), ...updates.map(({ created_at: at }) => Date.parse(at ?? "") || 0));
}

function story(
  { columns, paint }: Screen,
  { created_at: at, update_type: type, title, contents }: Update,
): string[] {
  const head = [at && momentAway(at, Math.max(Date.now(), Date.parse(at) || 0)), type, title].filter(
    (each) => each !== null && each !== "",
  );
  const told = contents === "" ? [] : [`  ${wrapped(safe(contents), columns - 4, "    ")}`];
  return [paint.dim(safe(head.join("  "))), ...told];
}
