import type { ResourceRecord } from "../resource-record.ts";
import type { ResourcePage, Totals, WholeResource } from "../resources.ts";
import type { WaitingStep } from "../waiting-steps.ts";
import { duration, planInWords } from "../wording.ts";
import { showEntry } from "./audit.ts";
import type { Screen } from "./host.ts";
import { nextStep } from "./outcome.ts";
import { members, shortened, table, type Fact } from "./table.ts";
import { counted, moment, momentAway, safe, wrapped } from "./text.ts";

/** What `kit resources list` was asked for. */
export interface Asked {
  state?: string;
  search?: string;
  after?: string;
}

const WARNED_OF = ["grant_lost", "needs_reauth", "quarantined", "failed"];
const ASLEEP = ["deprovisioned", "erased"];

export function showPage(
  screen: Screen,
  { resources, next, isCut }: ResourcePage,
  { state, search }: Asked,
  totals?: Totals,
): string {
  const { columns, paint } = screen;
  const cut = isCut ? ["More resources begin like this than were looked through: type more of it."] : [];
  if (resources.length === 0) {
    const isFiltered = state !== undefined || search !== undefined;
    return [...cut, isFiltered ? "No resource is like this." : "There are no resources yet."].join("\n");
  }
  const shade = (text: string) => {
    if (WARNED_OF.includes(text.trim())) return paint.red(text);
    return ASLEEP.includes(text.trim()) ? paint.dim(text) : text;
  };
  const records = resources.map(({ uuid, plan, state: business, credential }) => ({
    ...{ uuid, plan: planInWords(plan), state: business, credential: credential.state },
  }));
  const [head, ...lines] = table(screen, records, shade).split("\n");
  const rows = lines.map(
    (line, at) => `${line}\n${paint.dim(shortened(`  ${whichAndWhy(resources[at]!)}`, columns))}`,
  );
  const filter = [state && ` --state ${state}`, search && ` --search ${quoted(search)}`]
    .filter(Boolean)
    .join("");
  const end = next
    ? `${resources.length} shown, there are more:\nkit resources list${filter} --after ${next}`
    : `${counted(resources.length, "resource")}.`;
  return [head, ...rows, "", ...cut, ...(totals ? [totalsInWords(totals, columns)] : []), end].join("\n");
}

/** The name, the app, the region and the age of a resource, and why its credential is as it is. */
function whichAndWhy({ name, app, region, createdAt, credential }: ResourceRecord): string {
  const age = duration(Math.max(0, Date.now() - Date.parse(createdAt)) / 1_000);
  const why = [credential.reason, credential.lastError].filter(Boolean).join(", ");
  const which = [name, app && `on ${app.name}`, region, `${age} old`].filter(Boolean).join(", ");
  return safe(why === "" ? which : `${which}; ${why}`);
}

function totalsInWords({ isEstimated, states, credentials }: Totals, columns: number): string {
  const told = (counts: Record<string, number>) =>
    Object.entries(counts)
      .map(([state, count]) => `${count} ${state}`)
      .join(", ");
  const words = `In all${isEstimated ? ", about" : ""}: ${told(states)}. Credentials: ${told(credentials)}.`;
  return wrapped(words, columns);
}

/** As a shell takes it. */
function quoted(text: string): string {
  return /^[\w.@-]+$/.test(text) ? text : `'${safe(text).replaceAll("'", `'\\''`)}'`;
}

export function showOne(screen: Screen, resource: WholeResource): string {
  const { uuid, name, plan, region, state, app, credential, steps, events, actions, readAt } = resource;
  const { createdAt: created, updatedAt: updated } = resource;
  const now = Date.parse(readAt);
  const advice = WARNED_OF.includes(credential.state) ? nextStep(credential.state, credential.reason) : null;
  const part = (title: string, content: readonly string[]) =>
    content.length === 0 ? [] : [screen.paint.bold(title), ...content];
  const list = (pairs: (readonly [string, Fact])[]) => (pairs.length === 0 ? [] : [members(screen, pairs)]);
  const about = { name, plan: planInWords(plan), region, state, app: app && `${app.name} (${app.id})` };
  return [
    ...part(`Resource ${uuid}`, [members(screen, { ...about, created, updated })]),
    ...part("Credential", [
      members(
        screen,
        {
          state: credential.state + (credential.reason ? `: ${credential.reason}` : ""),
          ...(advice !== null && { "to do": advice }),
          generation: credential.generation,
          expires: credential.expiresAt,
          "refresh due": credential.refreshDueAt,
          secret: credential.secretVersion && `version ${credential.secretVersion}`,
          "sealed with": credential.keyId,
          "last error": credential.lastError,
          flags: credential.flags,
        },
        now,
      ),
    ]),
    ...part("Waiting steps", list(steps.map((step) => [step.kind, stepInWords(step, now)]))),
    ...part(
      "Events (UTC)",
      list(events.map(({ at, type, detail }) => [moment(at), eventInWords(type, detail)])),
    ),
    ...part(
      "What operators did (UTC)",
      actions.map((each) => showEntry(screen, each)),
    ),
  ].join("\n");
}

function stepInWords({ tries, lastError, said, isUnderWay, nextTryAt }: WaitingStep, now: number): string {
  const when = nextTryAt === null ? "when there is a working token" : momentAway(nextTryAt, now);
  const isDue = nextTryAt !== null && Date.parse(nextTryAt) <= now;
  const next = isUnderWay ? "is under way" : isDue ? "in its turn" : when;
  const often =
    said === null ? `${tries} ${tries === 1 ? "try" : "tries"}, the next` : "goes on, the next look";
  const answer = lastError ?? said;
  return `${often} ${next}${answer === null ? "" : `\n${answer}`}`;
}

function eventInWords(type: string, detail: unknown): string {
  const pairs = Object.entries(detail ?? {}).map(([name, value]) => `${name} ${String(value)}`);
  return [type, ...pairs].join("  ");
}

/** What a person reads before erasing a resource. */
export function aboutOne(resource: ResourceRecord): string {
  const { uuid, plan, state, credential } = resource;
  return `${uuid}:\nplan ${planInWords(safe(plan))}, ${state}, credential ${credential.state}\n${whichAndWhy(resource)}`;
}
