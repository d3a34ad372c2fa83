import { typedUuid } from "../../operator/errors.ts";
import type { ResourceRecord } from "../../operator/resource-record.ts";
import type { ResourceEvent, ResourcePage } from "../../operator/resources.ts";
import { examples, type AddCommand } from "../command.ts";
import type { Screen } from "../screen.ts";
import { members, table } from "../table.ts";
import { counted, moment, momentAway, safe } from "../text.ts";
import { addImport } from "./import.ts";

export const addResources: AddCommand = (program, act) => {
  const resources = program.command("resources").description("the add-on resources we know of");

  resources
    .command("list")
    .description("all resources, the newest first, 100 at a time")
    .option("--state <state>", "only those in this state: of the business, or of the credential")
    .option("--after <cursor>", 'the next page: the "next" of the one before')
    .addHelpText("after", examples("kit resources list", "kit resources list --state grant_lost"))
    .action(
      act(async (session, { state, after }: { state?: string; after?: string }) => {
        const { listResources } = await import("../../operator/resources.ts");
        const page = await listResources(await session.database(), { state, after });
        return { data: page, show: (screen) => showPage(screen, page, state) };
      }),
    );

  resources
    .command("show")
    .argument("<uuid>", "the resource", typedUuid)
    .description("one resource, with what happened to it")
    .addHelpText("after", examples("kit resources show 01234567-89ab-cdef-0123-456789abcdef"))
    .action(
      act(async (session, uuid: string) => {
        const { showResource } = await import("../../operator/resources.ts");
        const resource = await showResource(await session.database(), uuid);
        return { data: resource, show: (screen) => showOne(screen, resource) };
      }),
    );

  resources
    .command("erase")
    .argument("<uuid>", "the resource", typedUuid)
    .description("end a resource that the platform no longer asks about; a tombstone stays")
    .addHelpText("after", examples("kit resources erase 01234567-89ab-cdef-0123-456789abcdef"))
    .action(
      act(async (session, uuid: string) => {
        const { deprovisionWithoutKeys, eraseResource } = await import("../../operator/erasure.ts");
        const db = await session.database();
        const report = await eraseResource({ db, deprovision: deprovisionWithoutKeys(db) }, uuid);
        return { data: report, show: () => `Erased ${report.erased}. Its uuid can never live again.` };
      }),
    );

  addImport(resources, act);
};

const WARNED_OF = ["grant_lost", "needs_reauth", "quarantined", "failed"];
const ASLEEP = ["deprovisioned", "erased"];

function showPage(screen: Screen, { resources, next }: ResourcePage, state: string | undefined): string {
  if (resources.length === 0) return state ? `No resource is ${state}.` : "There are no resources yet.";
  const { paint } = screen;
  const shade = (text: string) => {
    const word = text.trim();
    if (WARNED_OF.includes(word)) return paint.red(text);
    return ASLEEP.includes(word) ? paint.dim(text) : text;
  };
  const list = table<ResourceRecord>(
    screen,
    [
      { title: "UUID", of: ({ uuid }) => uuid },
      { title: "PLAN", of: ({ plan }) => plan, canShrink: true },
      { title: "STATE", of: (resource) => resource.state, paint: shade },
      { title: "CREDENTIAL", of: ({ credential }) => credential.state, paint: shade },
      ...(screen.columns >= 100
        ? [{ title: "APP", of: ({ app }: ResourceRecord) => app?.name ?? "", canShrink: true }]
        : []),
    ],
    resources,
  );
  const filter = state ? ` --state ${state}` : "";
  const end = next
    ? `${resources.length} shown, there are more:\nkit resources list${filter} --after ${next}`
    : `${counted(resources.length, "resource")}.`;
  return `${list}\n\n${end}`;
}

function showOne(screen: Screen, resource: ResourceRecord & { events: ResourceEvent[] }): string {
  const { credential, app, events } = resource;
  const { paint } = screen;
  const none = "–";
  return [
    paint.bold(`Resource ${resource.uuid}`),
    members(screen, [
      ["name", safe(resource.name ?? none)],
      ["plan", safe(resource.plan)],
      ["region", safe(resource.region ?? none)],
      ["state", resource.state],
      ["app", app ? safe(`${app.name} (${app.id})`) : none],
      ["created", moment(resource.createdAt)],
      ["updated", moment(resource.updatedAt)],
    ]),
    paint.bold("Credential"),
    members(screen, [
      ["state", credential.state + (credential.reason ? `: ${credential.reason}` : "")],
      ["generation", String(credential.generation)],
      ["expires", credential.expiresAt ? momentAway(credential.expiresAt) : none],
      ["refresh due", credential.refreshDueAt ? momentAway(credential.refreshDueAt) : none],
      ["secret", credential.secretVersion === null ? none : `version ${credential.secretVersion}`],
      ["sealed with", credential.keyId ?? none],
      ["last error", safe(credential.lastError ?? none)],
      ["flags", safe(credential.flags.join(", ") || none)],
    ]),
    paint.bold("Events (UTC)"),
    members(
      screen,
      events.map(({ at, type, detail }) => [moment(at), eventInWords(type, detail)]),
    ),
  ].join("\n");
}

function eventInWords(type: string, detail: unknown): string {
  const pairs = Object.entries(detail ?? {}).map(([name, value]) => `${name} ${String(value)}`);
  return safe([type, ...pairs].join("  "));
}
