import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { Refusal } from "../errors.ts";
import { refuseCompressed } from "../http/requests.ts";
import type { Grant, ProvisionRequest } from "../resources/rows.ts";
import { Secret } from "../secret.ts";
import { isJsonObject, type JsonObject, parsedJson, readTime, readUuid } from "../values.ts";

// Reads what the platform sends (assumed, section 1). Each member that the kit uses is read by name; other members are
// ignored. Only uuid and plan are required, and little is refused, because a refusal costs a sale.

/** Larger bodies are answered 413. */
const MOST_BODY_BYTES = 64 * 1024;
const LONGEST_CODE = 2048;
/** A body that nests deeper would overflow the stack of a recursive function. */
const DEEPEST = 20;

/**
 * Reads a body as a JSON object in UTF-8, whatever its headers say. express.json takes longer than all of these checks.
 * Throws a {@link Refusal} (400, 413, 415, 422).
 */
export async function readBody(request: IncomingMessage): Promise<JsonObject> {
  refuseCompressed(request);
  const length = request.headers["content-length"];
  if (length === undefined && request.headers["transfer-encoding"] === undefined)
    throw badRequest("The request has no body.");
  if (Number(length) > MOST_BODY_BYTES) throw tooLarge();
  const bytes = await collect(request);
  // A parser would silently replace bytes that are not UTF-8 by another character.
  if (!isUtf8(bytes)) throw invalid("The body is not UTF-8.");
  const text = bytes.toString("utf8");
  const body = text === "" ? {} : parsedJson(text);
  if (body === undefined) throw badRequest("The body is not valid JSON.");
  if (!isJsonObject(body)) throw invalid("The body must be a JSON object.");
  refuseUnstorable(body);
  return body;
}

/** Reads the bytes. A body that grows too large is refused; the rest of it is read and discarded. */
function collect(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    request.on("data", (piece: Buffer) => {
      size += piece.length;
      if (size <= MOST_BODY_BYTES) pieces.push(piece);
      else reject(tooLarge());
    });
    request.on("end", () => resolve(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)));
    request.on("error", () => reject(badRequest("The request broke off.")));
  });
}

/** Refuses a body that nests too deeply, or contains text that PostgreSQL cannot store. Walks without recursion. */
function refuseUnstorable(body: JsonObject): void {
  const open: { value: unknown; depth: number }[] = [{ value: body, depth: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, depth } = next;
    if (typeof value === "string") refuseBroken(value);
    if (typeof value !== "object" || value === null) continue;
    if (depth >= DEEPEST) throw invalid(`The body nests deeper than ${DEEPEST} levels.`);
    for (const [key, member] of Object.entries(value)) {
      refuseBroken(key);
      open.push({ value: member, depth: depth + 1 });
    }
  }
}

function refuseBroken(text: string): void {
  if (text.includes("\0")) throw invalid("A text contains a NUL character.");
  if (!text.isWellFormed()) throw invalid("A text contains broken Unicode.");
}

/** `requestId`: the id of the request in the log. Throws a {@link Refusal} (422) that names a member. */
export function readProvision(members: JsonObject, requestId: string): ProvisionRequest {
  const uuid = readUuid(members["uuid"]);
  if (!uuid) throw invalid("uuid must be the resource's UUID.");
  return {
    uuid,
    plan: readPlan(members),
    name: optionalText(members["name"]),
    region: optionalText(members["region"]),
    options: isJsonObject(members["options"]) ? members["options"] : {},
    callbackUrl: optionalText(members["callback_url"]),
    logInputUrl: optionalSecret(members["log_input_url"]),
    logDrainToken: optionalSecret(members["log_drain_token"]),
    grant: readGrant(members["oauth_grant"]),
    requestId,
  };
}

/** The plan that a provision or a plan change names. Throws a {@link Refusal} (422). */
export function readPlan({ plan }: JsonObject): string {
  if (typeof plan !== "string" || plan === "") throw invalid("plan must be the plan's name.");
  return plan;
}

/** `null` without a grant, which is no error: the resource works without tokens, and its credential shows the operator why. */
function readGrant(value: unknown): Grant | null {
  const { code, expires_at: expiresAt } = isJsonObject(value) ? value : {};
  if (typeof code !== "string" || code === "") return null;
  if (code.length > LONGEST_CODE)
    throw invalid(`oauth_grant.code must not be longer than ${LONGEST_CODE} characters.`);
  return { code: new Secret(code), expiresAt: readTime(expiresAt) };
}

const optionalText = (value: unknown) => (typeof value === "string" ? value : null);
const optionalSecret = (value: unknown) =>
  typeof value === "string" && value !== "" ? new Secret(value) : null;

const invalid = (message: string) => new Refusal(message, { id: "invalid_params" });
const badRequest = (message: string) => new Refusal(message, { id: "bad_request", status: 400 });
const tooLarge = () =>
  new Refusal("The body is larger than 64 kB.", { id: "payload_too_large", status: 413 });
