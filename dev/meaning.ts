import type { LedgerEntry } from "../packages/sandbox/index.ts";
import { inPlain, list, textIn } from "./wording.ts";

/** What the platform knows about a resource, for words that the call itself does not contain. */
export interface Known {
  name: string;
  app: string;
  isExchanged: boolean;
}

type Tell = (facts: Facts) => string;

interface Facts {
  status: number;
  request: Record<string, unknown>;
  answer: Record<string, unknown>;
  /** The answer's items, if it is a list. */
  items: Record<string, unknown>[];
  known: Known | undefined;
}

/** What each call means when it succeeds; "you" is the service. */
const meanings: readonly [call: string, tell: Tell][] = [
  ["> POST /resources", provision],
  [
    "> PUT /resources/*",
    ({ status, request, answer, known }) =>
      `The customer of ${name(known)} chose the plan ${textIn(request, "plan")}. ${answered(status, answer)}`,
  ],
  [
    "> DELETE /resources/*",
    ({ known }) => `The customer removed ${name(known)}. Its tokens are dead; yours are erased.`,
  ],
  ["POST /oauth/token", token],
  [
    "GET /addons/*",
    ({ answer }) => `You asked for the add-on: it is on the app "${textIn(answer, "app", "name")}".`,
  ],
  ["GET /oauth/authorize", () => "You sent somebody's browser here: they sign in and say what you may do."],
  ["POST /oauth/authorize", () => "They decided; their browser comes back to you."],
  ["GET /account", ({ answer }) => `You asked whose token this is: ${textIn(answer, "email")}'s.`],
  [
    "GET /addons/*/addon-attachments",
    ({ items }) =>
      `You asked where it is attached: ${list(items.map((item) => `"${textIn(item, "app", "name")}"`))}.`,
  ],
  [
    "GET /addons/*/config",
    ({ items }) => `You looked which config vars it has: ${names(items) || "none yet"}.`,
  ],
  ["PATCH /addons/*/config", ({ items }) => `You set the app's config vars: ${names(items)}.`],
  [
    "POST /addons/*/actions/provision",
    () => `You told the platform that it is ready: it is provisioned now.`,
  ],
  ["POST /addons/*/actions/deprovision", () => `You told the platform that it cannot be provisioned.`],
];

/** What a call means, in one or two sentences; empty if the call needs no explanation. */
export function meaningOf(entry: LedgerEntry, resourcesPath: string, known: Known | undefined): string {
  const { direction, method, path, request, response, complaints = [] } = entry;
  if (response === null) return [`There was no answer.`, ...complaints].join(" ");
  const { status, body } = response;
  // `kit doctor` sends this call without credentials and only needs an answer, so a refusal is no failure.
  if (direction === "in" && path === "/") return "You asked whether the platform answers: it does.";
  if (status >= 400) return refusal(direction, status, body);
  const below = direction === "out" ? path.replace(resourcesPath, "/resources") : path;
  const call = `${direction === "out" ? "> " : ""}${method} ${below.split("?")[0]!.replace(/[0-9a-f-]{36}/g, "*")}`;
  const tell = meanings.find(([pattern]) => pattern === call)?.[1];
  const items = Array.isArray(body) ? (body as Record<string, unknown>[]) : [];
  const facts = { status, request: object(request.body), answer: object(body), items, known };
  return [tell?.(facts) ?? "", ...complaints].filter(Boolean).join(" ");
}

function provision({ status, request, answer, known }: Facts): string {
  const plan = textIn(request, "plan");
  if (known?.isExchanged)
    return `The request for ${name(known)} was delivered again; you gave the same answer.`;
  return `A customer installed ${plan} on the app "${known?.app ?? "?"}". ${answered(status, answer)}`;
}

function answered(status: number, answer: Record<string, unknown>): string {
  const vars = Object.keys(object(answer["config"]));
  if (status === 202) return `You answered "later": the work goes on, and the config vars follow.`;
  if (vars.length === 0) {
    const { message } = answer;
    return typeof message === "string" ? `You answered: ${message}` : "You answered without config vars.";
  }
  return `You answered with ${vars.length === 1 ? "1 config var" : `${vars.length} config vars`}: ${list(vars)}.`;
}

function token({ request, answer }: Facts): string {
  const life = inPlain(Number(answer["expires_in"]));
  return request["grant_type"] === "refresh_token"
    ? `You refreshed: a new access token for ${life}; the old one is dead.`
    : "user_id" in answer
      ? `Somebody signs in: you exchanged their code for an access token (${life}) and a refresh token.`
      : `You exchanged the grant for an access token (${life}) and a refresh token; you keep them sealed.`;
}

function refusal(direction: "in" | "out", status: number, body: unknown): string {
  const { message, error_description: description, error } = object(body);
  const reason = [message, description, error].find((each) => typeof each === "string") ?? `status ${status}`;
  const who = direction === "out" ? "You" : "The platform";
  return `${who} ${status >= 500 ? "failed" : "refused"}: ${String(reason)}`;
}

const name = (known: Known | undefined) => known?.name ?? "a resource";
const names = (items: Record<string, unknown>[]) => list(items.map((item) => textIn(item, "name")));

function object(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}
