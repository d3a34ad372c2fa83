import { createHash, timingSafeEqual } from "node:crypto";
import type { Answer, Request, Resource, ServiceSettings } from "./types.ts";

// The behaviour of the example at each point where a service can go wrong. The tests of the rules change one of these
// at a time and expect that the rule which names it, and no other, notices.

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const LARGEST_BODY = 64 * 1024;

export const refusal = (status: number, id: string, message: string): Answer => ({
  status,
  body: { id, message },
});

export interface Body {
  uuid: string;
  plan: string;
  code: string | null;
}

export const goodHabits = {
  sells: (plan: string) => ["basic", "premium", "slow"].includes(plan),
  takesItsTime: (plan: string): boolean => plan === "slow",
  /** Headers of every answer. */
  headers: {} as Record<string, string>,

  /** Whether a request without valid credentials is executed before it is refused. */
  worksForStrangers: (_request: Request) => false,
  /** How many ms a request may take to arrive. */
  bodyWithinMs: Infinity,

  /** Called before anything is read or looked up. */
  isPlatform({ addonId, addonPassword }: ServiceSettings, { headers }: Request): boolean {
    const [, base64 = ""] = /^Basic ([A-Za-z0-9+/]+=*)$/i.exec(headers.authorization ?? "") ?? [];
    const hash = (text: string) => createHash("sha256").update(text).digest();
    const given = Buffer.from(base64, "base64").toString();
    return timingSafeEqual(hash(given), hash(`${addonId}:${addonPassword}`));
  },

  unauthorized(_request: Request, _isKnown: boolean): Answer {
    const answer = refusal(401, "unauthorized", "Send the add-on's id and password.");
    return { ...answer, headers: { "www-authenticate": 'Basic realm="example"' } };
  },

  /** The members of a JSON object, or the refusal of the body. */
  read({ headers, text }: Request): Record<string, unknown> | Answer {
    if (text.length > LARGEST_BODY) return refusal(413, "too_large", "The body is too large.");
    if (!/^application\/([\w.-]+\+)?json/i.test(headers["content-type"] ?? ""))
      return refusal(415, "unsupported_media_type", "The body must be JSON.");
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value === "object" && value !== null && !Array.isArray(value))
        return value as Record<string, unknown>;
    } catch {
      // Answered below.
    }
    return refusal(400, "bad_request", "The body must be a JSON object.");
  },

  /** Reads the members that are used and ignores the others. */
  readProvision(members: Record<string, unknown>): Body | Answer {
    const { uuid, plan, oauth_grant: grant } = members;
    if (typeof uuid !== "string" || !UUID.test(uuid))
      return refusal(422, "invalid_params", "uuid must be a UUID.");
    if (typeof plan !== "string") return refusal(422, "invalid_params", "plan must be a plan's name.");
    const { code } = (grant ?? {}) as { code?: unknown };
    return { uuid: uuid.toLowerCase(), plan, code: typeof code === "string" ? code : null };
  },

  isUuid: (text: string) => UUID.test(text),
  uuidOf: (path: string) => path.toLowerCase(),

  /** The answer to a provision, which is kept and given again. */
  provisioned: (uuid: string, plan: string, _wanted: Body): Answer => ({
    status: 200,
    body: { id: `example-${uuid}`, message: "Ready.", config: configOf(uuid, plan) },
  }),
  begun: (uuid: string): Answer => ({
    status: 202,
    body: { id: `example-${uuid}`, message: "It takes a moment." },
  }),
  /** Called before anything is changed; nothing is changed unless the answer is a success. */
  changed: ({ uuid }: Resource, plan: string): Answer => ({
    status: 200,
    body: { message: `Now ${plan}.`, config: configOf(uuid, plan) },
  }),
  deprovisioned: (_resource: Resource): Answer => ({ status: 204 }),
  unknownPlan: (_method: string) => refusal(422, "unknown_plan", "There is no such plan."),
  unknown: (_method: string, _uuid: string): Answer =>
    refusal(404, "not_found", "There is no such resource."),
  gone: (_method: string): Answer => refusal(410, "gone", "The resource was deprovisioned."),
  /** Whether the service accepts a change to this plan. */
  changesTo: (plan: unknown) => ["basic", "premium", "slow"].includes(String(plan)),
  planOf: (members: Record<string, unknown>): unknown => members["plan"],

  /** How many ms after an answer its work begins. */
  worksAfterMs: 20,
  /** How many ms an answer takes. */
  answerTakesMs: (_request: Request) => 0,
  /** The answer to a repeated provision of an existing resource. */
  again: ({ answer }: Resource, _wanted: Body): Answer => answer,
  otherMethod: (_method: string): Answer => refusal(405, "method_not_allowed", "Only POST, PUT and DELETE."),
};

export function configOf(uuid: string, plan: string): Record<string, string> {
  return { EXAMPLE_URL: `https://${plan}.example.com/${uuid}`, EXAMPLE_KEY: uuid.replaceAll("-", "") };
}
