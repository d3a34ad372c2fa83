import type { Context } from "../context.ts";
import { tokensOf } from "../credentials/token-source.ts";
import { isJsonObject, parsedJson } from "../json-object.ts";
import type { PlatformFor } from "../platform/api.ts";
import { ForeignResource, InvalidPath } from "../platform/path.ts";
import { redact } from "../secret.ts";
import { findApps } from "../work/platform-steps.ts";
import { typedUuid, UsedWrongly } from "./errors.ts";

export type AppsReport = Awaited<ReturnType<typeof appsOf>>;

/** Asks the platform on which app a resource was installed, and for its attachments; stores that app. */
export async function appsOf(ctx: Pick<Context, "db" | "platformFor">, typed: string) {
  const { primary, attachments } = await findApps(ctx, typedUuid(typed));
  return {
    primary: { id: primary.id, name: primary.name },
    attachments: attachments.map(({ id, name, app }) => ({ id, name, app: { id: app.id, name: app.name } })),
  };
}

/** The platform's answer; `body` is parsed if it is JSON, and null if it is empty. */
interface PlatformAnswer {
  status: number;
  headers: Record<string, string | string[]>;
  body: unknown;
}

interface PlatformCall {
  method: string;
  path: string;
  /** The resource whose token is sent. */
  uuid: string;
  /** The body, as JSON text. */
  data?: string | undefined;
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** Checks a call as far as that needs no settings. Throws {@link UsedWrongly}. */
export function checkCall({ method, data }: Pick<PlatformCall, "method" | "data">): void {
  const known = method.toUpperCase();
  if (!METHODS.includes(known))
    throw new UsedWrongly(
      `"${method}" is not a method of the platform's API: it takes ${METHODS.join(", ")}.`,
    );
  if (data === undefined) return;
  // The platform would ignore the data, and the operator would believe that the answer took it into account.
  if (known === "GET") throw new UsedWrongly("A GET takes no data: what it asks for stands in its path.");
  if (parsedJson(data) === undefined) throw new UsedWrongly("The data is not JSON.");
}

/**
 * Calls the platform's API with one resource's token; `checkCall` has validated the call. An error status is an answer
 * too. Throws {@link UsedWrongly}.
 */
export async function callPlatform(
  platformFor: PlatformFor,
  { method, path, uuid, data }: PlatformCall,
): Promise<PlatformAnswer> {
  try {
    const request = data === undefined ? {} : { body: data };
    const { status, headers, body } = await platformFor(uuid).request(method, path, request);
    const sent = Object.entries(headers).filter((each): each is [string, string | string[]] => !!each[1]);
    return {
      status,
      headers: Object.fromEntries(sent),
      body: body === "" ? null : (parsedJson(body) ?? body),
    };
  } catch (error) {
    if (error instanceof InvalidPath || error instanceof ForeignResource)
      throw new UsedWrongly(error.message);
    throw error;
  }
}

/**
 * Removes the secrets from an answer: values that are secret by their place, the access token of the call, texts that
 * begin like a token, and every other secret that this process knows.
 */
export async function masked(
  ctx: Context,
  { path, uuid }: Pick<PlatformCall, "path" | "uuid">,
  { status, headers, body }: PlatformAnswer,
): Promise<PlatformAnswer> {
  // An error answer has members of its own, and no values of vars.
  const isOfVars = status < 300 && /^\/apps\/[^/]+\/config-vars\/?(\?|$)/i.test(path);
  const token = await tokensOf(ctx, uuid)
    .current()
    .catch(() => null);
  const tokens = token ? [token.reveal()] : [];
  const scrub = (text: string) => ctx.scrubber.scrub(redact(text, tokens));
  return {
    ...{ status, headers: withoutSecretMembers(headers, scrub) as PlatformAnswer["headers"] },
    body: withoutSecretMembers(body, scrub, isOfVars ? "vars" : "open"),
  };
}

const HIDDEN = "[secret]";

/** Names of members of the platform's answers that hold a secret, or an address at which logs can be read or written. */
const SECRET =
  /^(.*_?token|.*secret|code|password|session_nonce|log_(input|drain)_url|authorization|(set-)?cookie)$/i;

/** `vars`: an object of names and values of config vars, any of which may be secret. */
type Kind = "open" | "secret" | "vars";

/**
 * Removes from an answer what is secret by its place: members with such names, the address of a log drain, and the
 * values of config vars. `scrub` is applied to all other texts, and to the names of members.
 */
function withoutSecretMembers(value: unknown, scrub: (text: string) => string, kind: Kind = "open"): unknown {
  if (typeof value === "string") return kind === "secret" && value !== "" ? HIDDEN : scrub(value);
  if (Array.isArray(value))
    return value.map((each) => withoutSecretMembers(each, scrub, kind === "vars" ? "open" : kind));
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [
    scrub(name),
    withoutSecretMembers(member, scrub, kind === "vars" ? "secret" : kindOf(name, value)),
  ]);
  return Object.fromEntries(members) as object;
}

function kindOf(name: string, owner: object): Kind {
  if (name === "config") return "vars";
  // `value` beside `name` belongs to a config var; `url` beside `token` to a log drain.
  const isSecret = name === "value" ? "name" in owner : name === "url" ? "token" in owner : SECRET.test(name);
  return isSecret ? "secret" : "open";
}
