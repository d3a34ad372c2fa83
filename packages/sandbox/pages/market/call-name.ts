import { isObject } from "../../is-object.ts";
import type { LedgerEntry } from "../../wire/ledger.ts";

/** What each call is for, in a few words; a leading `>` marks the platform's calls to the service. */
const names: readonly [call: string, name: string][] = [
  ["> POST /sso/login", "sign-on of a customer"],
  ["> POST *", "provision"],
  ["> PUT */*", "plan change"],
  ["> DELETE */*", "deprovision"],
  ["GET /addons/*", "reads its add-on"],
  ["GET /addons/*/addon-attachments", "lists the attachments"],
  ["GET /addons/*/config", "reads the config vars"],
  ["PATCH /addons/*/config", "sets the config vars"],
  ["POST /addons/*/actions/provision", "reports that it is provisioned"],
  ["POST /addons/*/actions/deprovision", "reports that it cannot be provisioned"],
  ["GET /vendor/resources/*/oauth-grant", "asks for a lost grant"],
  ["GET /apps/*", "reads an app"],
  ["GET /account", "reads the token's account"],
  ["GET /oauth/authorize", "a person begins to sign in"],
  ["POST /oauth/authorize", "a person decides"],
  ["POST /oauth/authorize/sign-in", "a person signs in"],
  ["GET /", "checks that the platform answers"],
  ["GET /api/v4/current-status", "reads the platform's status"],
  ["GET /api/v4/incidents", "lists incidents"],
  ["GET /api/v4/incidents/*", "reads an incident"],
];

/** A few words that explain a call; empty if none are known for its path. */
export function callName(entry: LedgerEntry): string {
  const { direction, method, path } = entry;
  const [pathname = ""] = path.split("?");
  if (direction === "in" && pathname === "/oauth/token") return tokenCall(entry);
  const call = `${direction === "out" ? "> " : ""}${method} ${pathname}`;
  return names.find(([pattern]) => isLike(call, pattern))?.[1] ?? "";
}

/** Only the answer shows whose code it was: for a person it has a `user_id`. */
function tokenCall({ request, response }: LedgerEntry): string {
  const { grant_type: type } = (request.body ?? {}) as { grant_type?: unknown };
  if (type === "refresh_token") return "refreshes its token";
  if (response?.status !== 200) return "exchanges a code";
  return isObject(response.body) && "user_id" in response.body
    ? "exchanges a person's code"
    : "exchanges the grant";
}

/** `*` stands for one segment of the path; in patterns for calls to the service it stands for one or more segments. */
function isLike(call: string, pattern: string): boolean {
  const any = pattern.startsWith(">") ? "\\S+" : "[^/]+";
  return new RegExp(`^${pattern.replaceAll("*", any)}$`).test(call);
}

/** A path with its ids shortened to fit into a diagram. */
export function shortPath(path: string): string {
  return path.replace(/([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f-]{22}/g, "$1…");
}
