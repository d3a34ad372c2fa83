import { createInterface } from "node:readline";
import { STATES_OF_RESOURCES } from "../../credentials/states.ts";
import { RESOURCE_STATES } from "../../resources/states.ts";
import {
  eraseResource,
  listResources,
  showResource,
  importInstallations,
  type ResourcePage,
  type ResourceRecord,
  type WholeResource,
} from "../resources.ts";
import { typedUuid } from "../errors.ts";
import { some, moment, planInWords } from "../wording.ts";
import type { KitCommand } from "./session.ts";
import { DONE, FAILED, onScreen } from "./outcome.ts";
import { counted, example, facts, safe, table } from "./text.ts";
import { detailsInWords, factsOf, type NamedFact } from "../resource-facts.ts";
import type { AuditEntry } from "../store.ts";
import type { Screen } from "./host.ts";

const STATES = `
States of the business:
  ${RESOURCE_STATES.join(", ")}
States of the credential:
  ${STATES_OF_RESOURCES.join(", ")}`;

export function addResources(program: KitCommand): void {
  const resources = program.command("resources").description("the add-on resources we know of");
  resources
    .command("list")
    .description("all resources, the newest first, 100 at a time")
    .option("--state <state>", "only those in this state: of the business, or of the credential")
    .option("--search <text>", "how the uuid, name or app begins; or its plan, region or app id")
    .option("--after <cursor>", 'the next page: the "next" of the one before')
    .addHelpText("after", STATES)
    .does(
      async (session, { search: text, ...search }: { search?: string; state?: string; after?: string }) => {
        const page = await listResources(await session.database(), { text, ...search });
        return { data: page, show: (screen) => pageText(screen, page) };
      },
    );

  resources
    .command("show")
    .argument("<uuid>", "the resource", typedUuid)
    .description("one resource, with what happened to it")
    .does(async (session, uuid: string) => {
      const resource = await showResource(await session.database(), uuid);
      return { data: resource, show: (screen) => resourceText(screen, resource) };
    });

  resources
    .command("erase")
    .argument("<uuid>", "the resource", typedUuid)
    .option("--yes", "do not ask")
    .description("end a resource that the platform no longer asks about; a tombstone stays")
    .addHelpText(
      "after",
      `
Its tokens and config vars are gone for good, and what your service keeps for it
is cleaned up. Said of a tombstone, it takes what is left of the customer: name,
app and options.`,
    )
    .does(async (session, uuid: string, { yes = false }: { yes?: boolean }) => {
      const db = await session.database({ changes: true });
      const resource = await showResource(db, uuid);
      if (!yes) {
        session.say(table(session.screen(), [inRow(resource)]));
        await session.confirm("Erase it for good?");
      }
      const report = await eraseResource(db, uuid);
      return { data: report, show: () => `Erased ${report.erased}. Its uuid can never live again.` };
    });

  addImport(resources);
}

function addImport(resources: KitCommand): void {
  resources
    .command("import")
    .description("take over installations from before the kit: JSON lines on standard input")
    .addHelpText(
      "after",
      `${example("kit resources import < installations.jsonl")}

A line is {"uuid": "…", "plan": "basic", "region": "us", "name": "…"}; region
and name may be missing. What exists is never changed. Exit code 0: every line
is imported or exists; 1: some line was not usable (its number and reason are
told). Then: kit grants recover --all`,
    )
    .does(async (session) => {
      const context = await session.context({ changes: true });
      const how = session.how();
      const { stdin: input } = session.host;
      if (input.isTTY) {
        session.endProgress();
        session.say("Type or paste one JSON object a line; Ctrl-D ends.");
      }
      const lines = createInterface({ input, signal: how.signal, crlfDelay: Infinity });
      const report = await importInstallations(context, lines, how);
      if (how.signal.aborted)
        session.say("Stopped: what was taken is kept. The same command with all lines goes on.");
      const { imported, skipped } = report;
      const skippedText = ({ line, uuid, reason }: (typeof skipped)[number]) =>
        `✗ line ${line}: ${reason} ${uuid ?? ""}`;
      const bad = skipped.filter(({ reason }) => reason !== "exists");
      const sum = `${counted(imported, "resource")} imported, ${skipped.length - bad.length} existed, ${bad.length} not usable.`;
      return {
        data: report,
        message: sum,
        show: (screen) => onScreen(screen, [...some(bad, skippedText), sum].join("\n")),
        exitCode: bad.length === 0 && !how.signal.aborted ? DONE : FAILED,
      };
    });
}

function pageText(screen: Screen, { resources, next }: ResourcePage): string {
  if (resources.length === 0) return "There are no such resources.";
  const end = next
    ? `${resources.length} shown. For more, the same command with --after ${next}`
    : `${counted(resources.length, "resource")}.`;
  return `${table(screen, resources.map(inRow))}\n\n${end}`;
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

function resourceText(screen: Screen, resource: WholeResource): string {
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

export function entryText({ paint }: Screen, entry: AuditEntry): string {
  const { action, uuid, operator, state, message, startedAt } = entry;
  const who = operator.address === null ? operator.name : `${operator.name} (${operator.address})`;
  const end = state === "done" ? state : paint.red(state);
  const below = [who, uuid, message].filter(Boolean).join("; ");
  return `${moment(startedAt.toISOString())}  ${end}  ${paint.bold(safe(action))}\n  ${safe(below)}`;
}
