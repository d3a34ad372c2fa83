import type { Context } from "../context.ts";
import { tokensOf } from "../credentials/token-source.ts";
import { findApps } from "../resources/looks.ts";
import { HIDDEN, redact } from "../secret.ts";
import { isJsonObject, parsedJson } from "../values.ts";

export type AppsReport = Awaited<ReturnType<typeof appsOf>>;

/** Asks the platform on which app a resource was installed, and for its attachments; stores that app. */
export async function appsOf(
  ctx: Pick<Context, "db" | "log" | "platformFor" | "offer" | "config">,
  uuid: string,
) {
  const { primary, attachments } = await findApps(ctx, uuid);
  return {
    primary: { id: primary.id, name: primary.name },
    attachments: attachments.map(({ id, name, app }) => ({ id, name, app: { id: app.id, name: app.name } })),
  };
}

/**
 * Calls the platform's API with one resource's token, and answers what came; an error status is an answer too. Unless
 * `reveal` is set, without what is secret by its place, and without secrets and tokens that this process knows.
 */
export async function callPlatform(
  ctx: Context,
  { method, path, uuid, data }: Record<"method" | "path" | "uuid", string> & { data?: string | undefined },
  reveal: boolean,
) {
  const answer = await ctx.platformFor(uuid).request(method, path, data);
  const { status, headers } = answer;
  const body: unknown = answer.body === "" ? null : (parsedJson(answer.body) ?? answer.body);
  if (reveal) return { status, headers, body };
  // An error answer has members of its own, and no values of vars.
  const isOfVars = status < 300 && /^\/apps\/[^/]+\/config-vars\/?(\?|$)/i.test(path);
  const token = await tokensOf(ctx, uuid)
    .current()
    .catch(() => null);
  const scrub = (text: string) => ctx.scrubber.scrub(redact(text, token ? [token.reveal()] : []));
  return {
    status,
    headers: withoutSecretMembers(headers, scrub),
    body: withoutSecretMembers(body, scrub, isOfVars ? "vars" : "open"),
  };
}

/** Names of members of the platform's answers that hold a secret, or an address at which logs can be read or written. */
const SECRET =
  /^(.*_?token|.*secret|code|password|session_nonce|log_(input|drain)_url|authorization|(set-)?cookie)$/i;

/** `vars`: an object of names and values of config vars, any of which may be secret. */
type Kind = "open" | "secret" | "vars";

/** Hides what is secret by its place. `scrub` is applied to all other texts, and to the names of members. */
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
