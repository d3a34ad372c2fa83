import { Option } from "commander";
import { typedUuid, UnknownResource } from "../errors.ts";
import { exportResources } from "../export.ts";
import { SORT_NAMES } from "../list-store.ts";
import { detailsInWords, factsOf } from "../resource-facts.ts";
import {
  type Candidates,
  FAILING,
  listResources,
  meantBy,
  type Search,
  shownOf,
  stateInWords,
  STATES,
} from "../resource-list.ts";
import {
  eraseResource,
  importInstallations,
  type ResourceRecord,
  showResource,
  type WholeResource,
} from "../resources.ts";
import { counted, moment, type NamedFact, planInWords, some } from "../wording.ts";
import type { Paint } from "./host.ts";
import { inputLines } from "./lines.ts";
import {
  DONE,
  entryText,
  example,
  facts,
  FAILED,
  jsonText,
  marked,
  type Outcome,
  safe,
  table,
  USED_WRONGLY,
} from "./outcome.ts";
import { JSON_LINES, writeLines } from "./pages.ts";
import type { KitCommand } from "./session.ts";

export function addResources(program: KitCommand): void {
  const resources = program
    .command("resources")
    .summary("the add-on resources")
    .description("the add-on resources that the service has");
  resources
    .command("list")
    .description("all resources, the newest first, 100 at a time")
    .addOption(
      new Option(
        "--state <state>",
        "only those in this state: of the business, of the credential, suspended, or gone_at_platform",
      ).choices([...STATES]),
    )
    .option("--failing [call]", `only those of which this call fails now: ${FAILING.join(", ")}`)
    .option("--error <text>", "only those whose last error contains this")
    .option("--plan <plan>", "only those of this plan")
    .option("--app <app>", "only those of the app with this name or id")
    .option("--suspended", "only those that are suspended, in whatever other state")
    .option(
      "--search <text>",
      "a part, in any case, of the uuid, name, app or e-mail of who is signed on; or the region",
    )
    .option("--sort <order>", `by ${SORT_NAMES.join(", ")}`)
    .option("--after <cursor>", 'the next page: the "next" of the one before')
    .option(...JSON_LINES)
    .does(async (session, { jsonLines, ...typed }: Typed) => {
      const { search: text, failing, ...others } = typed;
      const wanted = { ...others, text, failing: failing === true ? "any" : failing };
      const db = await session.database();
      const pageAfter = (after?: string) => listResources(db, { ...wanted, after });
      if (jsonLines)
        return writeLines(session, typed.after, async (after) => {
          const { resources: items, next } = await pageAfter(after);
          return { items, next };
        });
      const page = await pageAfter(typed.after);
      const more = page.next === null ? "" : ` For more, the same command with --after ${page.next}`;
      const end = `${shownOf(page)}.${more}`;
      return { data: page, show: (paint) => `${table(paint, page.resources.map(inRow))}\n\n${end}` };
    });

  resources
    .command("show")
    .argument("<resource>", "its uuid, or what only its uuid, name or app contains, in any case")
    .description("one resource, with what happened to it")
    .addHelpText(
      "after",
      `${example("kit resources show quiet-31")}\n\nExit code 2: several contain it. They are listed.`,
    )
    .does(async (session, typed: string) => {
      const db = await session.database();
      const meant = await meantBy(db, typed);
      if ("candidates" in meant) return notUnique(typed, meant);
      const resource = await showResource(db, meant.uuid);
      return { data: resource, show: (paint) => resourceText(paint, resource) };
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
is cleaned up. Of a tombstone it clears the details of its events.`,
    )
    .does(async (session, uuid: string, { yes = false }: { yes?: boolean }) => {
      const db = await session.database({ changes: true });
      // There may be no more than a mark that the platform asked about it.
      const resource = await showResource(db, uuid).catch((error: unknown) => {
        if (error instanceof UnknownResource) return null;
        throw error;
      });
      if (!yes && resource) {
        session.say(table(session.paint(), [inRow(resource)]));
        await session.confirm("Erase it for good?");
      }
      const report = await eraseResource(db, uuid);
      return { data: report, show: () => `Erased ${report.erased}. Its uuid cannot be provisioned again.` };
    });

  resources
    .command("export")
    .argument("[uuid...]", "these resources alone")
    .option(
      "--reveal",
      "with the values of config vars and the log addresses: they are the customer's secrets",
    )
    .description("all that is kept of all resources, or of some: a JSON line each")
    .addHelpText("after", `${example("kit resources export UUID > for-the-customer.json")}\n${ABOUT_EXPORT}`)
    .does(async (session, typed: string[], { reveal = false }: { reveal?: boolean }) => {
      const uuids = [...new Set(typed.map(typedUuid))].sort();
      const context = await session.context({ keys: false });
      const how = session.how();
      if (session.host.stdout.isTTY) session.endProgress();
      const missing = new Set(uuids);
      let [written, incomplete] = [0, 0];
      for await (const line of exportResources(context, uuids.length > 0 ? uuids : "all", {
        reveal,
        ...how,
      })) {
        if (!(await session.write(jsonText(line)))) break;
        missing.delete(line.uuid);
        written += 1;
        if (line.incomplete) incomplete += 1;
        how.onProgress?.(written, uuids.length);
      }
      const isGone = !session.host.stdout.writable;
      if (!isGone && !how.signal.aborted)
        for (const uuid of missing) session.complain(new UnknownResource(uuid).message);
      if (incomplete > 0)
        session.complain(`${counted(incomplete, "line")} incomplete: see its member "incomplete".`);
      const isWhole = isGone || (missing.size === 0 && incomplete === 0 && !how.signal.aborted);
      const sum = `${counted(written, "resource")} exported.`;
      return {
        data: null,
        isWritten: true,
        message: sum,
        exitCode: isWhole ? DONE : FAILED,
        show: () => sum,
      };
    });

  resources
    .command("import")
    .description("take over installations from before the kit: JSON lines on standard input")
    .addHelpText(
      "after",
      `${example("kit resources import < installations.jsonl")}

A line is {"uuid": "…", "plan": "basic", "region": "us", "name": "…", "app":
{"id": "…", "name": "…"}}; what follows the plan may be missing. A line of kit
resources export is one, too; what had ended there is left out. A resource that
exists is never changed. Exit code 0: every line is imported or exists; 1: a line
was not usable (its number and reason are shown), or the import was stopped: run it
again. Then: kit grants recover --all`,
    )
    .does(async (session) => {
      const context = await session.context({ changes: true });
      const how = session.how();
      const { stdin: input } = session.host;
      if (input.isTTY) session.endProgress();
      const report = await importInstallations(context, inputLines(input, how.signal), how);
      const { imported, skipped } = report;
      const fine: readonly string[] = ["exists", "not_provisioned"];
      const bad = skipped.filter(({ reason }) => !fine.includes(reason));
      const ended = skipped.filter(({ reason }) => reason === "not_provisioned").length;
      const badText = ({ line, uuid, reason }: (typeof bad)[number]) =>
        `✗ line ${line}: ${reason} ${uuid ?? ""}`;
      const existed = skipped.length - bad.length - ended;
      const endedText = ended > 0 ? ` ${ended} were not provisioned any more, or not yet.` : "";
      const sum = `${counted(imported, "resource")} imported, ${existed} existed, ${bad.length} not usable.${endedText}`;
      return {
        data: report,
        message: sum,
        show: (paint) => marked(paint, [...some(bad, badText), sum].join("\n")),
        exitCode: bad.length === 0 && !how.signal.aborted ? DONE : FAILED,
      };
    });
}

const ABOUT_EXPORT = `
Each line is a resource as kit resources show has it, with its options, the names
of its config vars, its events, who signed on to it, what was done to it, and at
"yours" what your service keeps (exportData). Tombstones are among them. Tokens of
the platform never are. kit resources import takes the lines again.`;

type Typed = Omit<Search, "text" | "failing"> & {
  search?: string;
  failing?: string | true;
  jsonLines?: boolean;
};

const inRow = ({ uuid, plan, credential, name, app, createdAt, ...state }: ResourceRecord) => ({
  uuid,
  plan: planInWords(plan),
  state: stateInWords(state),
  credential: credential.state,
  name: name ?? "",
  app: app?.name ?? "",
  since: createdAt.slice(0, 10),
});

/** What several resources contain, or none. */
function notUnique(typed: string, { candidates, total }: Candidates): Outcome {
  if (candidates.length === 0) throw new UnknownResource(typed);
  const more = total > candidates.length ? `, the first ${candidates.length} of them` : "";
  const message = `${counted(total, "resource")} contain "${typed}": name one by its uuid${more}.`;
  return {
    data: { id: "not_unique", message, total, candidates },
    isComplaint: true,
    exitCode: USED_WRONGLY,
    show: (paint) => `${paint.red("✗")} ${safe(message)}\n\n${table(paint, candidates.map(inRow))}`,
  };
}

function resourceText(paint: Paint, resource: WholeResource): string {
  const now = Date.parse(resource.readAt);
  const happened = resource.events.map(({ at, type, detail }): NamedFact => {
    return [moment(at), [type, detailsInWords(detail)].filter(Boolean).join("  ")];
  });
  const parts = [
    ...Object.entries(factsOf(resource)).map(([title, named]) => [title, facts(paint, named, now)]),
    ["Events (UTC)", facts(paint, happened)],
    ["What operators did (UTC)", resource.actions.map((each) => entryText(paint, each)).join("\n")],
  ] as [string, string][];
  return parts.flatMap(([title, text]) => (text === "" ? [] : [paint.bold(title), text])).join("\n");
}
