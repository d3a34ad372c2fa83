import type { Settings } from "../settings.ts";
import type { Books } from "./books.ts";
import type { Inventory } from "./inventory.ts";
import type { Script } from "./script.ts";
import {
  callsOfRule,
  giveReply,
  listen,
  membersIn,
  type Outgoing,
  passedOn,
  readText,
  type Reply,
  send,
} from "./wire.ts";

/** What came of one call to the service; no reply if there was no answer. */
export interface Delivery {
  reply: Reply | null;
  /** Why there was no answer, as a sentence. */
  whyNoAnswer: string | null;
}

/** What is known about one resource: how the platform treats it, and the calls that the service got. */
export interface Resource {
  uuid: string;
  script: Script;
  deliveries: Delivery[];
  /** The id of the rule for which the platform calls the service at present. */
  rule: string | undefined;
}

/** A relay between the sandbox and the service: a script may change requests, or lose answers. */
export async function openRelay(needs: {
  books: Books;
  resources: Map<string, Resource>;
  call(outgoing: Outgoing): Promise<Reply>;
}) {
  const { books, resources, call } = needs;
  let next: { script: Script; rule: string | undefined; arrived(resource: Resource): void } | null = null;

  function resourceOf(uuid: string): Resource {
    const known = resources.get(uuid);
    if (known) return known;
    const made: Resource = { uuid, script: next?.script ?? {}, deliveries: [], rule: next?.rule };
    resources.set(uuid, made);
    next?.arrived(made);
    next = null;
    return made;
  }

  /** Records the grant's code before the request is changed. */
  function noteCode(text: string, uuid: string) {
    const grant = membersIn(text)["oauth_grant"] as { code?: string } | undefined;
    if (!grant?.code) return null;
    const code = books.codes.get(grant.code) ?? { uuid, isAnswered: false, isSettled: false };
    books.codes.set(grant.code, code);
    return code;
  }

  const server = await listen(async (request, response) => {
    const text = await readText(request);
    const { method = "", url: path = "", headers } = request;
    const uuid = books.uuidOf({ path, headers: {}, text }) ?? String(membersIn(text)["uuid"]);
    const resource = resourceOf(uuid);
    const outgoing: Outgoing = {
      method,
      path,
      headers: passedOn(headers),
      ...(text !== "" && { body: text }),
    };
    const code = noteCode(text, uuid);
    resource.script.alter?.(outgoing);
    let whyNoAnswer: string | null = null;
    const reply = await callsOfRule
      .run(resource.rule, () => call(outgoing))
      .catch((error: Error) => {
        whyNoAnswer = error.message;
        return null;
      });
    resource.deliveries.push({ reply, whyNoAnswer });
    const isLost = (resource.script.lostAnswers ?? 0) > 0 || reply === null;
    if (isLost) resource.script.lostAnswers = (resource.script.lostAnswers ?? 1) - 1;
    if (code && !isLost) code.isAnswered = true;
    books.changed();
    if (isLost) request.socket.destroy();
    else giveReply(response, reply);
  });

  return {
    ...server,
    /** Gives this script to the next resource that was not seen before, and resolves with that resource. */
    expect: (script: Script) =>
      new Promise<Resource>((resolve) => {
        next = { script, rule: callsOfRule.getStore(), arrived: resolve };
      }),
  };
}

/** How much of an answer is kept for the rules that look through all of them: there are many hundred. */
const LOOKED_THROUGH = 100_000;

/** Calls the service at its own address, and records each answer and what the service made. */
export function createServiceLine(books: Books, { url }: Settings, inventory: Inventory) {
  return async (outgoing: Outgoing, at = url): Promise<Reply> => {
    const reply = await inventory.watch(outgoing, (withinMs) => send(at, outgoing, withinMs));
    books.replies.push({ ...reply, text: reply.text.slice(0, LOOKED_THROUGH) });
    return reply;
  };
}
