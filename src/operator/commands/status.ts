import type { CurrentStatus, Incident } from "../platform-status.ts";
import { UsedWrongly } from "../errors.ts";
import { examples, type AddCommand } from "./command.ts";
import { icon, incidentText, latestUpdate } from "./incident-text.ts";
import type { Outcome } from "./outcome.ts";
import type { Screen } from "./screen.ts";
import type { Session } from "./session.ts";
import { counted, safe } from "./text.ts";

interface Options {
  since?: string;
  perPage?: string;
  incident?: string;
}

export const addStatus: AddCommand = (program, act) => {
  program
    .command("status")
    .option("--since <YYYY-MM-DD>", "the incidents since that day")
    .option("--per-page <n>", "as many incidents")
    .option("--incident <id>", "one incident with its whole story")
    .description("how the platform is: its status feed, which nothing of the service depends on")
    .addHelpText("after", examples("kit status", "kit status --since 2026-01-31", "kit status --incident 7"))
    .action(act(status));
};

async function status(session: Session, { since, perPage, incident }: Options): Promise<Outcome> {
  const parts = await import("../platform-status.ts");
  const settings = session.settings(parts.STATUS_SETTINGS);
  session.begin();
  const isList = since !== undefined || perPage !== undefined;
  if (incident !== undefined) {
    if (isList)
      throw new UsedWrongly("--incident shows one incident; --since and --per-page are for a list.");
    const { json, value } = await parts.showIncident(settings, incident);
    return { data: json, show: (screen) => incidentText(screen, value, value.updates) };
  }
  if (isList) {
    const { json, value } = await parts.listIncidents(settings, { since, perPage });
    return { data: json, show: (screen) => showList(screen, value) };
  }
  const { json, value } = await parts.currentStatus(settings);
  return {
    data: json,
    show: (screen) => showCurrent(screen, value, parts.openIncidents(value)),
  };
}

function showCurrent(
  screen: Screen,
  { status: systems, scheduled }: CurrentStatus,
  open: Incident[] | null,
): string {
  const width = Math.max(0, ...systems.map(({ system }) => system.length));
  const coming = scheduled.filter(({ resolved }) => !resolved);
  return [
    ...systems.map((each) => `${safe(each.system).padEnd(width)}  ${icon(screen, each.status)}`),
    ...(systems.length === 0 ? ["The feed names no systems: how they are is not known."] : []),
    "",
    openInWords(open),
    ...(open ?? []).map((each) => `\n${incidentText(screen, each, latestUpdate(each))}`),
    ...(coming.length > 0 ? ["", "Maintenance:"] : []),
    ...coming.map((each) => `\n${incidentText(screen, each, latestUpdate(each))}`),
  ].join("\n");
}

function openInWords(open: Incident[] | null): string {
  if (open === null) return "The feed has no list of incidents.";
  return open.length === 0 ? "No incident is open." : `${counted(open.length, "incident")} open:`;
}

function showList(screen: Screen, incidents: Incident[]): string {
  if (incidents.length === 0) return "There was no incident.";
  return [
    ...incidents.map((each) => `${incidentText(screen, each, [])}\n`),
    `${counted(incidents.length, "incident")}. One with its story: kit status --incident ${incidents[0]!.id}`,
  ].join("\n");
}
