import { setTimeout as sleep } from "node:timers/promises";
import type { Books, Call } from "./books.ts";
import type { Script } from "./script.ts";
import { giveReply, jsonReply, listen, membersIn, passedOn, readText, type Reply, send } from "./wire.ts";

/** On a network, a call sent right after the service's answer may overtake that answer, by this many ms at most. */
export const OVERTAKES_BY_MS = 250;
const SETTLES_WITHIN_MS = 5_000;
const NOT_THE_PLATFORMS = jsonReply(404, { id: "not_found", message: "The platform has no such address." });

/**
 * The platform as the service sees it: records every call, applies the script of its resource, and otherwise forwards
 * it to the sandbox.
 */
export function openFront(needs: {
  books: Books;
  scripts: ReadonlyMap<string, Script>;
  sandboxUrl(): string;
  /** Called with each client secret that the service sends. */
  onSecret(secret: string): void;
  port: number;
  host: string;
}) {
  const { books, scripts, sandboxUrl, onSecret } = needs;

  /** True if the exchange came before the answer; otherwise waits until the platform has processed the answer. */
  async function isEarly({ form, text, path }: Call): Promise<boolean> {
    const [, code] =
      [...books.codes].find(([secret]) => secret === form["code"] || (text + path).includes(secret)) ?? [];
    if (!code || (await books.until(() => code.isSettled, OVERTAKES_BY_MS))) return false;
    if (!code.isAnswered) return true;
    await books.until(() => code.isSettled, SETTLES_WITHIN_MS);
    return false;
  }

  function expired({ headers }: Call): Reply | null {
    const token = books.tokens.get(bearerOf(headers.authorization));
    if (token?.endsAt == null || performance.now() < token.endsAt) return null;
    return jsonReply(401, { id: "unauthorized", message: "The access token has expired." });
  }

  /** The sandbox's own answer; disguised tokens are replaced by the real ones. */
  async function forward({ method, path, headers, text }: Call): Promise<Reply> {
    if (isOwnSide(path)) return NOT_THE_PLATFORMS;
    const bearer = books.tokens.get(bearerOf(headers.authorization));
    const sent = passedOn(headers);
    if (bearer) sent["authorization"] = `Bearer ${bearer.real}`;
    let body = text;
    for (const [shown, { real }] of books.tokens)
      if (shown !== real) body = body.replaceAll(encodeURIComponent(shown), encodeURIComponent(real));
    return send(sandboxUrl(), { method, path, headers: sent, ...(body !== "" && { body }) });
  }

  /** Records the tokens of an answer, and disguises them as the script says. */
  function handOut(uuid: string, reply: Reply, { disguise, tokenLifeSeconds }: Script): Reply {
    const members = membersIn(reply.text);
    for (const kind of ["access", "refresh"] as const) {
      const real = members[`${kind}_token`];
      if (typeof real !== "string") continue;
      const shown = disguise?.(real, kind) ?? real;
      const endsAt =
        kind === "access" && tokenLifeSeconds ? performance.now() + tokenLifeSeconds * 1000 : null;
      books.tokens.set(shown, { uuid, kind, real, endsAt });
      members[`${kind}_token`] = shown;
    }
    if (tokenLifeSeconds) members["expires_in"] = tokenLifeSeconds;
    return { ...reply, text: JSON.stringify(members) };
  }

  async function answer(call: Call, script: Script): Promise<Reply | null> {
    if (call.form["client_secret"]) onSecret(call.form["client_secret"]);
    if (call.kind === "exchange") call.isEarly = await isEarly(call);
    const reaction = script.react?.(call) ?? {};
    if (reaction.delayMs !== undefined) await sleep(reaction.delayMs);
    if (reaction.cut) return null;
    if (reaction.reply) return reaction.reply;
    const reply = expired(call) ?? (await forward(call));
    call.isServed = true;
    books.changed();
    await reaction.heldUntil;
    const isTokens = call.kind !== "api" && reply.status < 300;
    const handed = isTokens && call.uuid ? handOut(call.uuid, reply, script) : reply;
    return reaction.rewrite?.(handed) ?? handed;
  }

  return listen(
    async (request, response) => {
      const at = performance.now();
      const text = await readText(request);
      const { method = "", url: path = "", headers } = request;
      const uuid = books.uuidOf({ path, headers, text });
      const call: Call = {
        ...{ at, method, path, headers, text, uuid },
        ...{ form: formIn(headers["content-type"], text), kind: kindOf(books, path, text) },
        ...{
          isEarly: false,
          isServed: false,
          reply: null,
          endedAt: null,
          stoodStillMs: books.stoodStillMs(),
        },
      };
      books.calls.push(call);
      books.changed();
      const reply = await answer(call, scripts.get(uuid ?? "") ?? {});
      Object.assign(call, { reply, endedAt: performance.now() });
      books.changed();
      if (reply) giveReply(response, reply);
      else request.socket.destroy();
    },
    { port: needs.port, host: needs.host },
  );
}

/**
 * The sandbox's control API and its pages have no authentication, because only this machine reaches them. This port
 * may be open to others (`--platform-host`), so it serves the platform's endpoints alone. The path is normalized first,
 * as it is when the call is forwarded.
 */
function isOwnSide(path: string): boolean {
  const { pathname } = new URL(`http://platform.example${path}`);
  return /^\/(sandbox|marketplace)?(\/|$)/i.test(pathname);
}

function bearerOf(authorization = ""): string {
  return /^Bearer (.+)$/i.exec(authorization)?.[1] ?? "";
}

function formIn(contentType: string | undefined, text: string): Record<string, string> {
  if (!/^application\/x-www-form-urlencoded\b/i.test(contentType ?? "")) return {};
  return Object.fromEntries(new URLSearchParams(text));
}

/** Judged by the call's content, so that a call made wrongly is still recognized. */
function kindOf({ secretIn }: Books, path: string, text: string): Call["kind"] {
  if (!path.startsWith("/oauth/token")) return "api";
  const said = `${path} ${text}`;
  const secret = secretIn(said);
  if (secret) return secret.kind === "code" ? "exchange" : "refresh";
  if (said.includes("authorization_code")) return "exchange";
  return said.includes("refresh_token") ? "refresh" : "token";
}
