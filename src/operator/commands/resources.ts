import { typedUuid } from "../errors.ts";
import type { LostProvision } from "../lost-provisions.ts";
import type { ResourceRecord } from "../resource-record.ts";
import { BUSINESS_STATES, CREDENTIAL_STATES } from "../resource-states.ts";
import type { ResourcePage, Totals, WholeResource } from "../resources.ts";
import type { WaitingStep } from "../waiting-steps.ts";
import { duration, planInWords } from "../wording.ts";
import { EXAMPLE_UUID, examples, type AddCommand } from "./command.ts";
import type { Screen } from "./screen.ts";
import { nextStep } from "./failure.ts";
import { members, shortened, table } from "./table.ts";
import { counted, moment, momentAway, safe, wrapped } from "./text.ts";
import { showEntry } from "./audit.ts";
import { addErase } from "./erase.ts";
import { addImport } from "./import.ts";

interface Asked {
  state?: string | undefined;
  search?: string | undefined;
  after?: string;
}

export const addResources: AddCommand = (program, act) => {
  const resources = program.command("resources").description("the add-on resources we know of");

  resources
    .command("list")
    .description("all resources, the newest first, 100 at a time")
    .option("--state <state>", "only those in this state: of the business, or of the credential")
    .option("--search <text>", "how the uuid, name or app begins; or its plan, region or app id")
    .option("--after <cursor>", 'the next page: the "next" of the one before')
    .addHelpText(
      "after",
      examples("kit resources list --state grant_lost", "kit resources list --search shop-") + STATES,
    )
    .action(
      act(async (session, { search, ...asked }: Asked) => {
        const { countStates, listResources } = await import("../resources.ts");
        const db = await session.database();
        const page = await listResources(db, { ...asked, text: search });
        const totals = asked.after === undefined ? await countStates(db) : undefined;
        return {
          data: { ...page, ...(totals && { totals }) },
          show: (screen) => showPage(screen, page, { search, ...asked }, totals),
        };
      }),
    );

  resources
    .command("show")
    .argument("<uuid>", "the resource", typedUuid)
    .description("one resource, with what happened to it")
    .addHelpText("after", examples(`kit resources show ${EXAMPLE_UUID}`))
    .action(
      act(async (session, uuid: string) => {
        const { showResource } = await import("../resources.ts");
        const resource = await showResource(await session.database(), uuid);
        return { data: resource, show: (screen) => showOne(screen, resource) };
      }),
    );

  resources
    .command("lost")
    .description("provisions of the last 30 days that were answered with an error of ours: each a lost sale")
    .addHelpText("after", examples("kit resources lost"))
    .action(
      act(async (session) => {
        const { lostProvisions } = await import("../lost-provisions.ts");
        const lost = await lostProvisions(await session.database());
        return { data: lost, show: (screen) => showLost(screen, lost) };
      }),
    );

  addErase(resources, act);
  addImport(resources, act);
};

const STATES = `

States of the business:   ${BUSINESS_STATES.join(", ")}
States of the credential: ${wrapped(CREDENTIAL_STATES.join(", "), 80, " ".repeat(26))}`;

const WARNED_OF = ["grant_lost", "needs_reauth", "quarantined", "failed"];
const ASLEEP = ["deprovisioned", "erased"];

function showPage(
  screen: Screen,
  { resources, next, isCut }: ResourcePage,
  { state, search }: Asked,
  totals?: Totals,
): string {
  const { columns, paint } = screen;
  const isFiltered = state !== undefined || search !== undefined;
  const filter = [
    ...(state ? [" --state", state] : []),
    ...(search ? [" --search", quoted(search)] : []),
  ].join(" ");
  const cut = isCut
    ? [wrapped(`More resources begin like this than were looked through: type more of it.`, columns)]
    : [];
  if (resources.length === 0) {
    return [...cut, isFiltered ? "No resource is like this." : "There are no resources yet."].join("\n");
  }
  const shade = (text: string) => {
    const word = text.trim();
    if (WARNED_OF.includes(word)) return paint.red(text);
    return ASLEEP.includes(word) ? paint.dim(text) : text;
  };
  const [head, ...lines] = table<ResourceRecord>(
    screen,
    [
      { title: "UUID", of: ({ uuid }) => uuid },
      { title: "PLAN", of: ({ plan }) => planInWords(plan), canShrink: true },
      { title: "STATE", of: (resource) => resource.state, paint: shade },
      { title: "CREDENTIAL", of: ({ credential }) => credential.state, paint: shade },
    ],
    resources,
  ).split("\n");
  const rows = lines.map(
    (line, at) => `${line}\n${paint.dim(shortened(`  ${whichAndWhy(resources[at]!)}`, columns))}`,
  );
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

function showLost(screen: Screen, lost: LostProvision[]): string {
  if (lost.length === 0) return "No provision was lost.";
  const list = table<LostProvision>(
    screen,
    [
      { title: "UUID", of: ({ uuid }) => uuid },
      { title: "PLAN", of: ({ plan }) => plan, canShrink: true },
      { title: "NAME", of: ({ name }) => name ?? "", canShrink: true },
      { title: "LOST (UTC)", of: ({ at }) => moment(at) },
      ...(screen.columns >= 120 ? [{ title: "REQUEST", of: (one: LostProvision) => one.requestId }] : []),
    ],
    lost,
  );
  return `${list}\n\n${counted(lost.length, "provision")}. Take one off the list: kit resources erase UUID`;
}

function showOne(screen: Screen, resource: WholeResource): string {
  const { credential, app, steps, events, actions, readAt } = resource;
  const next = WARNED_OF.includes(credential.state) ? nextStep(credential.state, credential.reason) : null;
  const away = (iso: string | null) => (iso ? momentAway(iso, Date.parse(readAt)) : "–");
  const { paint } = screen;
  const none = "–";
  return [
    paint.bold(`Resource ${resource.uuid}`),
    members(screen, [
      ["name", safe(resource.name ?? none)],
      ["plan", safe(planInWords(resource.plan))],
      ["region", safe(resource.region ?? none)],
      ["state", resource.state],
      ["app", app ? safe(`${app.name} (${app.id})`) : none],
      ["created", momentAway(resource.createdAt)],
      ["updated", momentAway(resource.updatedAt)],
    ]),
    paint.bold("Credential"),
    members(screen, [
      ["state", credential.state + (credential.reason ? `: ${credential.reason}` : "")],
      ...(next === null ? [] : [["to do", next] as const]),
      ["generation", String(credential.generation)],
      ["expires", away(credential.expiresAt)],
      ["refresh due", away(credential.refreshDueAt)],
      ["secret", credential.secretVersion === null ? none : `version ${credential.secretVersion}`],
      ["sealed with", credential.keyId ?? none],
      ["last error", safe(credential.lastError ?? none)],
      ["flags", safe(credential.flags.join(", ") || none)],
    ]),
    ...(steps.length > 0
      ? [
          paint.bold("Waiting steps"),
          members(
            screen,
            steps.map((step) => stepInWords(step, readAt)),
          ),
        ]
      : []),
    paint.bold("Events (UTC)"),
    members(
      screen,
      events.map(({ at, type, detail }) => [moment(at), eventInWords(type, detail)]),
    ),
    ...(actions.length > 0 ? [paint.bold("What operators did (UTC)")] : []),
    ...actions.map((each) => showEntry(screen, each)),
  ].join("\n");
}

function stepInWords(step: WaitingStep, now: string): [kind: string, words: string] {
  const { kind, tries, lastError, said } = step;
  const often =
    said === null ? `${tries} ${tries === 1 ? "try" : "tries"}, the next` : "goes on, the next look";
  const answer = lastError ?? said;
  return [kind, `${often} ${nextTry(step, now)}` + (answer === null ? "" : `\n${safe(answer)}`)];
}

function nextTry({ isUnderWay, nextTryAt }: WaitingStep, now: string): string {
  if (isUnderWay) return "is under way";
  if (nextTryAt === null) return "when there is a working token";
  return nextTryAt > now ? momentAway(nextTryAt, Date.parse(now)) : "in its turn";
}

function eventInWords(type: string, detail: unknown): string {
  const pairs = Object.entries(detail ?? {}).map(([name, value]) => `${name} ${String(value)}`);
  return safe([type, ...pairs].join("  "));
}
