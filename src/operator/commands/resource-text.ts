import { detailsInWords, factsOf, type NamedFact } from "../resource-facts.ts";
import type { ResourcePage, ResourceRecord, WholeResource } from "../resources.ts";
import type { AuditEntry } from "../store.ts";
import { moment, planInWords } from "../wording.ts";
import type { Screen } from "./host.ts";
import { counted, facts, safe, table } from "./text.ts";

const TROUBLED = ["grant_lost", "needs_reauth", "quarantined", "failed"];
const ENDED = ["deprovisioned", "erased"];

export function pageText(screen: Screen, { resources, next }: ResourcePage): string {
  const { paint } = screen;
  if (resources.length === 0) return "There are no such resources.";
  const shade = (text: string) => {
    if (TROUBLED.some((word) => text.split(" ").includes(word))) return paint.red(text);
    return ENDED.includes(text.trim()) ? paint.dim(text) : text;
  };
  const end = next
    ? `${resources.length} shown. For more, the same command with --after ${next}`
    : `${counted(resources.length, "resource")}.`;
  return `${table(screen, resources.map(inRow), shade)}\n\n${end}`;
}

/** An ordinary row fits into 80 columns: of the two states only what is unusual, and the app if there is no name. */
const inRow = ({ uuid, plan, state, credential, name, app }: ResourceRecord) => ({
  ...{ uuid, plan: planInWords(plan), state: stateInWords(state, credential.state) },
  ...{ why: credential.reason ?? "", name: name ?? app?.name ?? "" },
});

function stateInWords(...states: string[]): string {
  const unusual = states.filter((state) => !["provisioned", "active", "erased"].includes(state));
  return unusual.join(" ") || "active";
}

export function resourceText(screen: Screen, resource: WholeResource): string {
  const now = Date.parse(resource.readAt);
  const happened = resource.events.map(({ at, type, detail }): NamedFact => {
    return [moment(at), [type, detailsInWords(detail)].filter(Boolean).join("  ")];
  });
  const parts = [
    ...Object.entries(factsOf(resource)).map(([title, named]) => [title, facts(screen, named, now)]),
    ["Events (UTC)", facts(screen, happened)],
    ["What operators did (UTC)", resource.actions.map((each) => entryText(screen, each)).join("\n")],
  ] as [string, string][];
  return parts.flatMap(([title, text]) => (text === "" ? [] : [screen.paint.bold(title), text])).join("\n");
}

/** What a person reads before erasing a resource. */
export function aboutOne(screen: Screen, resource: ResourceRecord): string {
  return table(screen, [inRow(resource)]);
}

/** What was done, when, and how it ended; below, by whom, and what came of it. */
export function entryText({ paint }: Screen, entry: AuditEntry): string {
  const { action, uuid, operator, state, message, startedAt } = entry;
  const who = operator.address === null ? operator.name : `${operator.name} (${operator.address})`;
  const end = state === "done" ? state : paint.red(state);
  const below = [who, uuid, message].filter(Boolean).join("; ");
  return `${moment(startedAt.toISOString())}  ${end}  ${paint.bold(safe(action))}\n  ${safe(below)}`;
}
