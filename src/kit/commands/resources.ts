import { typedUuid } from "../../operator/errors.ts";
import type { ResourceRecord } from "../../operator/resource-record.ts";
import { BUSINESS_STATES, CREDENTIAL_STATES } from "../../operator/resource-states.ts";
import type { ResourcePage, WholeResource } from "../../operator/resources.ts";
import type { WaitingStep } from "../../operator/waiting-steps.ts";
import { planInWords } from "../../operator/wording.ts";
import { EXAMPLE_UUID, examples, type AddCommand } from "../command.ts";
import type { Screen } from "../screen.ts";
import { members, table } from "../table.ts";
import { counted, moment, momentAway, safe, wrapped } from "../text.ts";
import { addErase } from "./erase.ts";
import { addImport } from "./import.ts";

export const addResources: AddCommand = (program, act) => {
  const resources = program.command("resources").description("the add-on resources we know of");

  resources
    .command("list")
    .description("all resources, the newest first, 100 at a time")
    .option("--state <state>", "only those in this state: of the business, or of the credential")
    .option("--after <cursor>", 'the next page: the "next" of the one before')
    .addHelpText("after", examples("kit resources list", "kit resources list --state grant_lost") + STATES)
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
    .addHelpText("after", examples(`kit resources show ${EXAMPLE_UUID}`))
    .action(
      act(async (session, uuid: string) => {
        const { showResource } = await import("../../operator/resources.ts");
        const resource = await showResource(await session.database(), uuid);
        return { data: resource, show: (screen) => showOne(screen, resource) };
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

function showPage(screen: Screen, { resources, next }: ResourcePage, state: string | undefined): string {
  if (resources.length === 0 && next === null) {
    return state ? `No resource is ${state}.` : "There are no resources yet.";
  }
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
      { title: "PLAN", of: ({ plan }) => planInWords(plan), canShrink: true },
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

function showOne(screen: Screen, resource: WholeResource): string {
  const { credential, app, steps, events } = resource;
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
    ...(steps.length > 0 ? [paint.bold("Waiting steps"), members(screen, steps.map(stepInWords))] : []),
    paint.bold("Events (UTC)"),
    members(
      screen,
      events.map(({ at, type, detail }) => [moment(at), eventInWords(type, detail)]),
    ),
  ].join("\n");
}

function stepInWords(step: WaitingStep): [kind: string, words: string] {
  const { kind, tries, lastError, said } = step;
  const often =
    said === null ? `${tries} ${tries === 1 ? "try" : "tries"}, the next` : "goes on, the next look";
  const answer = lastError ?? said;
  return [kind, `${often} ${nextTry(step)}` + (answer === null ? "" : `\n${safe(answer)}`)];
}

function nextTry({ isUnderWay, nextTryAt }: WaitingStep): string {
  if (isUnderWay) return "is under way";
  if (nextTryAt === null) return "when there is a working token";
  return Date.parse(nextTryAt) > Date.now() ? momentAway(nextTryAt) : "in its turn";
}

function eventInWords(type: string, detail: unknown): string {
  const pairs = Object.entries(detail ?? {}).map(([name, value]) => `${name} ${String(value)}`);
  return safe([type, ...pairs].join("  "));
}
