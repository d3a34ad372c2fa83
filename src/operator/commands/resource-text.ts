import { detailsInWords, factsOf, type NamedFact } from "../resource-facts.ts";
import type { ResourcePage, ResourceRecord, WholeResource } from "../resources.ts";
import type { AuditEntry } from "../store.ts";
import { duration, moment, planInWords } from "../wording.ts";
import type { Screen } from "./host.ts";
import { facts, sections, shortened, table } from "./table.ts";
import { counted, safe, wrapped } from "./text.ts";

const TROUBLED = ["grant_lost", "needs_reauth", "quarantined", "failed"];
const ENDED = ["deprovisioned", "erased"];

export interface Totals {
  states: Record<string, number>;
  credentials: Record<string, number>;
}

export function pageText(
  screen: Screen,
  { resources, next }: ResourcePage,
  { totals, isFiltered }: { totals: Totals | null; isFiltered: boolean },
): string {
  const { columns, paint } = screen;
  if (resources.length === 0) return isFiltered ? "No resource is like this." : "There are no resources yet.";
  const shade = (text: string) => {
    if (TROUBLED.includes(text.trim())) return paint.red(text);
    return ENDED.includes(text.trim()) ? paint.dim(text) : text;
  };
  const records = resources.map(({ uuid, plan, state, credential }) => ({
    ...{ uuid, plan: planInWords(plan), state, credential: credential.state },
  }));
  const [head, ...lines] = table(screen, records, shade).split("\n");
  const rows = lines.map((line, at) => {
    const below = shortened(`  ${whichAndWhy(resources[at]!)}`, columns);
    return `${line}\n${paint.dim(below)}`;
  });
  const sums = (counts: Record<string, number>) =>
    Object.entries(counts)
      .map(([state, count]) => `${count} ${state}`)
      .join(", ");
  const all = totals && `In all: ${sums(totals.states)}. Credentials: ${sums(totals.credentials)}.`;
  const end = next
    ? `${resources.length} shown. For more, the same command with:\n--after ${next}`
    : `${counted(resources.length, "resource")}.`;
  return [head, ...rows, "", ...(all ? [wrapped(all, columns)] : []), end].join("\n");
}

/** The name, the app, the region and the age of a resource, and why its credential is as it is. */
function whichAndWhy({ name, app, region, createdAt, credential }: ResourceRecord): string {
  const age = duration(Math.max(0, Date.now() - Date.parse(createdAt)) / 1_000);
  const which = [name, app && `on ${app.name}`, region, `${age} old`].filter(Boolean).join(", ");
  const why = [credential.reason, credential.lastError].filter(Boolean).join(", ");
  return safe(why === "" ? which : `${which}; ${why}`);
}

export function resourceText(screen: Screen, resource: WholeResource): string {
  const now = Date.parse(resource.readAt);
  const parts = Object.entries(factsOf(resource)).map(([title, named]) => [title, facts(screen, named, now)]);
  const happened = resource.events.map(({ at, type, detail }): NamedFact => {
    return [moment(at), [type, detailsInWords(detail)].filter(Boolean).join("  ")];
  });
  return sections(screen, {
    ...(Object.fromEntries(parts) as Record<string, string>),
    "Events (UTC)": facts(screen, happened),
    "What operators did (UTC)": resource.actions.map((each) => entryText(screen, each)).join("\n"),
  });
}

/** What a person reads before erasing a resource. */
export function aboutOne(resource: ResourceRecord): string {
  const { uuid, plan, state, credential } = resource;
  return `${uuid}:\nplan ${planInWords(safe(plan))}, ${state}, credential ${credential.state}\n${whichAndWhy(resource)}`;
}

/** What was done, when, and how it ended; below, by whom, and what came of it. */
export function entryText({ columns, paint }: Screen, entry: AuditEntry): string {
  const { action, uuid, operator, state, message, startedAt } = entry;
  const who = operator.address === null ? operator.name : `${operator.name} (${operator.address})`;
  const end = state === "done" ? state : paint.red(state);
  const below = [who, uuid, message].filter(Boolean).join("; ");
  const text = `${moment(startedAt.toISOString())}  ${end}  ${paint.bold(safe(action))}\n${safe(below)}`;
  return wrapped(text, columns, "  ");
}
