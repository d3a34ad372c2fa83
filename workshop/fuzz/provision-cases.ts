import type { Random } from "../chaos/random.ts";
import { byteMutations } from "./mutate-bytes.ts";
import { type Envelope, envelopeMutations } from "./mutate-envelope.ts";
import { type Request, requestMutations } from "./mutate-request.ts";
import { textMutations } from "./mutate-text.ts";
import { textOf } from "./raw-json.ts";

/** One provision request as it is sent, and what to watch for. */
export interface Case extends Envelope {
  /** The mutations that were applied; empty for the request that the platform sends. */
  mutations: string[];
  /** Its secrets, which must not appear in an answer or in the log. */
  secrets: string[];
}

const STAGES = [requestMutations, textMutations, byteMutations, envelopeMutations];

/** Mutated provision requests, repeatable by their seed. */
export function createCases(random: Random, authorization: string) {
  const uuids: string[] = [];

  function hex(length: number): string {
    return Array.from({ length }, () => Math.floor(random.next() * 16).toString(16)).join("");
  }

  function aUuid(): string {
    const uuid = [hex(8), hex(4), `4${hex(3)}`, `a${hex(3)}`, hex(12)].join("-");
    uuids.push(uuid);
    return uuid;
  }

  function aRequest(uuid: string): { request: Request; secrets: string[] } {
    const secrets = [`code-${hex(32)}`, `https://logs.example/${hex(32)}`, `d.${hex(32)}`];
    const [code, log_input_url, log_drain_token] = secrets;
    const request = {
      ...{ uuid, name: "teapots-cubed-1234", plan: random.one(["basic", "basic", "premium", "dedicated"]), region: "us" },
      options: { size: "large", glaze: "blue" },
      callback_url: `https://api.example.com/addons/${uuid}`,
      oauth_grant: { code, type: "authorization_code", expires_at: "2026-03-03T18:01:31-0800" },
      ...{ log_input_url, log_drain_token },
    }; // prettier-ignore
    return { request, secrets };
  }

  function make(uuid: string, mutations: string[]): Case {
    const made = aRequest(uuid);
    const body = mutations.reduce<unknown>((now, name) => {
      const mutate = requestMutations[name];
      return mutate && isRequest(now) ? (mutate(now, random) ?? now) : now;
    }, made.request);
    const text = mutations.reduce((now, name) => textMutations[name]?.(now, random) ?? now, textOf(body));
    const plain = mutations.reduce(
      (now, name) => byteMutations[name]?.(now, random) ?? now,
      Buffer.from(text) as Buffer,
    );
    const envelope: Envelope = {
      headers: { authorization, "content-type": "application/json" },
      ...{ plain, bytes: plain },
      manner: "whole",
    };
    for (const name of mutations) envelopeMutations[name]?.(envelope, random);
    // A secret that was sent as the name of a plan may appear in the answer, which names the unknown plan.
    const secrets = made.secrets.filter((secret) => made.request["plan"] !== secret);
    return { ...envelope, mutations, secrets };
  }

  return {
    /** The request that the platform sends, the reference for the others. */
    usual: () => make(aUuid(), []),
    /** A new resource, or one of the last again, after one to three mutations. */
    mutated(): Case {
      const isAgain = uuids.length > 0 && random.chance(0.1);
      const uuid = isAgain ? random.one(uuids.slice(-20)) : aUuid();
      const count = random.one([1, 1, 1, 2, 2, 3]);
      const mutations = Array.from({ length: count }, () => random.one(Object.keys(random.one(STAGES))));
      return make(uuid, [...(isAgain ? ["a uuid again"] : []), ...mutations]);
    },
    /** Forgets the earlier uuids, so that they are not sent again. */
    forget: () => void (uuids.length = 0),
  };
}

export type Cases = ReturnType<typeof createCases>;

function isRequest(value: unknown): value is Request {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
