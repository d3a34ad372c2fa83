import type { WaitingStep, WholeResource } from "./resources.ts";
import { adviceOn, GONE, momentAway, type NamedFact, planInWords } from "./wording.ts";

/** What the command line and the page both show of a resource, by title. */
export function factsOf(resource: WholeResource) {
  const { uuid, name, plan, region, state, suspended, app, attachedAs } = resource;
  const { credential, steps, createdAt, updatedAt } = resource;
  const isGone = credential.flags.includes("gone_at_platform");
  const advice = isGone ? GONE : adviceOn(credential.state, credential.reason);
  return {
    Resource: Object.entries({
      Uuid: uuid,
      Name: name,
      Plan: planInWords(plan),
      Region: region,
      State: state,
      ...(suspended && { "Suspended since": suspended.since, Reason: suspended.reason }),
      App: app?.name,
      "App id": app?.id,
      ...(attachedAs && { "Attached as": `${attachedAs}, with which its config vars begin there` }),
      Created: createdAt,
      Updated: updatedAt,
    }),
    Credential: Object.entries({
      State: [credential.state, credential.reason].filter(Boolean).join(": "),
      ...(advice && { "To do": advice.todo }),
      Generation: credential.generation,
      "Next refresh": credential.refreshDueAt ?? "never by itself",
      Expires: credential.expiresAt,
      "Client secret": credential.secretVersion && `version ${credential.secretVersion}`,
      "Sealed with": credential.keyId,
      "Last error": credential.lastError,
      Flags: credential.flags.join(", ") || null,
    }),
    "Waiting steps": steps.map((step): NamedFact => {
      const name = step.plan === null ? step.kind : `${step.kind} to ${step.plan}`;
      return [name, stepInWords(step, resource.readAt)];
    }),
  } satisfies Record<string, readonly NamedFact[]>;
}

/** Its tries, its next one, and what came of the last. `now`: by the database's clock. */
function stepInWords({ tries, lastError, said, isUnderWay, nextTryAt }: WaitingStep, now: string): string {
  const later = nextTryAt === null ? "when there is a working token" : momentAway(nextTryAt, Date.parse(now));
  const next = isUnderWay ? "is under way" : nextTryAt !== null && nextTryAt <= now ? "in its turn" : later;
  const line = `${tries} ${tries === 1 ? "try" : "tries"}, the next ${next}`;
  return [line, lastError ?? said].filter(Boolean).join("\n");
}

/** What is stored with an event: "plan basic, tries 3". */
export function detailsInWords(detail: unknown): string {
  const inWords = ([name, value]: [string, unknown]) =>
    `${name} ${typeof value === "object" ? JSON.stringify(value) : String(value)}`;
  return Object.entries(Object(detail) as object)
    .map(inWords)
    .join(", ");
}
