import { Refusal } from "../errors.ts";
import { isJsonObject, type JsonObject } from "../json-object.ts";
import { readTime } from "../credentials/grant.ts";
import type { Grant, ProvisionRequest } from "../resources/rows.ts";
import { Secret } from "../secret.ts";
import { readUuid } from "../uuid.ts";

// Reading what the platform sends (assumed, section 1). Each member we use is taken by name; what we do not know is
// ignored. Only uuid and plan are required, and little is refused: a refusal costs a sale.

const LONGEST_CODE = 2048;

/**
 * The members of a provision request; `requestId` is its id in the log. Throws a {@link Refusal} (422) naming a member.
 */
export function readProvision(body: unknown, requestId: string): ProvisionRequest {
  const members = readObject(body);
  const uuid = readUuid(members["uuid"]);
  if (!uuid) throw invalid("uuid", "must be the resource's UUID");
  return {
    uuid,
    plan: readPlan(members),
    name: optionalText(members["name"]),
    region: optionalText(members["region"]),
    options: readOptions(members["options"]),
    callbackUrl: optionalText(members["callback_url"]),
    logInputUrl: optionalSecret(members["log_input_url"]),
    logDrainToken: optionalSecret(members["log_drain_token"]),
    grant: readGrant(members["oauth_grant"]),
    requestId,
  };
}

/** The plan of a plan change request. Throws a {@link Refusal} (422). */
export function readPlanChange(body: unknown): string {
  return readPlan(readObject(body));
}

function readObject(body: unknown): JsonObject {
  if (!isJsonObject(body)) throw new Refusal("The body must be a JSON object.", { id: "invalid_params" });
  refuseUnstorable(body);
  return body;
}

function readPlan(members: Record<string, unknown>): string {
  const plan = members["plan"];
  if (typeof plan !== "string" || plan === "") throw invalid("plan", "must be the plan's name");
  return plan;
}

/** Own members only, in an object without a prototype, so that `__proto__` is an option like any other. */
function readOptions(value: unknown): Record<string, unknown> {
  const options = Object.create(null) as Record<string, unknown>;
  if (isJsonObject(value)) for (const [name, option] of Object.entries(value)) options[name] = option;
  return options;
}

/**
 * Null if there is no grant. That is no error: the credential shows it to the operator, and the resource works without
 * one.
 */
function readGrant(value: unknown): Grant | null {
  if (typeof value !== "object" || value === null) return null;
  const { code, expires_at: expiresAt } = value as Record<string, unknown>;
  if (typeof code !== "string" || code === "") return null;
  if (code.length > LONGEST_CODE)
    throw invalid("oauth_grant.code", `must not be longer than ${LONGEST_CODE} characters`);
  return { code: new Secret(code), expiresAt: readTime(expiresAt) };
}

function optionalText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function optionalSecret(value: unknown): Secret | null {
  return typeof value === "string" && value !== "" ? new Secret(value) : null;
}

function invalid(member: string, fault: string): Refusal {
  return new Refusal(`${member} ${fault}.`, { id: "invalid_params" });
}

/** How deep a body may nest. A deeper one would overflow the stack of a recursive function. */
const DEEPEST = 20;

/**
 * Refuses a parsed JSON body that cannot be stored unchanged: nested too deeply, or with text that PostgreSQL cannot
 * store (NUL, broken Unicode). Walks without recursion.
 */
function refuseUnstorable(body: unknown): void {
  const open: { value: unknown; depth: number }[] = [{ value: body, depth: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, depth } = next;
    if (typeof value === "string") refuseBroken(value);
    if (typeof value !== "object" || value === null) continue;
    if (depth >= DEEPEST)
      throw new Refusal(`The body nests deeper than ${DEEPEST} levels.`, { id: "invalid_params" });
    for (const [key, member] of Object.entries(value)) {
      refuseBroken(key);
      open.push({ value: member, depth: depth + 1 });
    }
  }
}

function refuseBroken(text: string): void {
  if (text.includes("\0")) throw new Refusal("A text contains a NUL character.", { id: "invalid_params" });
  if (!text.isWellFormed()) throw new Refusal("A text contains broken Unicode.", { id: "invalid_params" });
}
