import type { AddressInfo } from "node:net";
import { createBareServer } from "./bare-server.ts";
import { tokensOf } from "./provisions.ts";

// The platform, as far as the benches need one: a process of its own that does little and keeps count of every call.
// What it issues names what it was issued for, and which of its pairs it is, so that whoever opens a stored token can tell
// whether it belongs there. It is asked for its counts and told how slow to be over the channel to its parent.

/** What the parent sends: how long a call of the token endpoint takes from now on. Each message is answered with {@link Counts}. */
export interface Orders {
  tokenMs?: number;
}

/** How many calls were answered since the start: exchanges, refreshes, calls of the API. */
export interface Counts {
  exchanged: number;
  refreshed: number;
  api: number;
  /** The first calls that were not understood; each is told of once. */
  strange: string[];
}

/** So many are enough to know. */
const MOST_STRANGE = 3;

const counts: Counts = { exchanged: 0, refreshed: 0, api: 0, strange: [] };
let tokenMs = 0;
/** Answers of the token endpoint on their way; another order lets them go at once. */
const held = new Map<NodeJS.Timeout, () => void>();

const QUIET = { status: [], incidents: [], scheduled: [] };

const server = createBareServer(({ method, path, body }, send) => {
  const [status, answer] = answerTo(method, path, body);
  if (tokenMs === 0 || path !== "/oauth/token") return send(status, answer);
  const sendNow = () => send(status, answer);
  const timer = setTimeout(() => held.delete(timer) && sendNow(), tokenMs);
  held.set(timer, sendNow);
});

function answerTo(method: string, path: string, body: string): [number, unknown] {
  if (path === "/oauth/token") return tokenAnswer(body) ?? notUnderstood(method, path);
  // Asked where calls are not answered for long, as those are that a bench of provisions lets wait.
  if (path === "/api/v4/current-status") return [200, QUIET];
  counts.api += 1;
  const [, uuid, rest = ""] = /^\/addons\/([0-9a-f-]{36})(\/.*)?$/.exec(path) ?? [];
  if (uuid && rest === "") return [200, addonOf(uuid)];
  if (uuid && rest === "/addon-attachments") return [200, []];
  if (uuid && rest === "/config")
    return [200, method === "GET" ? [] : (JSON.parse(body) as { config: unknown }).config];
  if (uuid && rest === "/actions/provision") return [200, {}];
  return notUnderstood(method, path);
}

function notUnderstood(method: string, path: string): [number, unknown] {
  if (counts.strange.length < MOST_STRANGE) counts.strange.push(`${method} ${path}`);
  return [404, { id: "not_found", message: "The bench's platform does not know this." }];
}

/** The pair behind the one whose refresh token was sent, or the first. */
function tokenAnswer(body: string): [number, unknown] | null {
  const [, code] = /(?:^|&)code=grant-([0-9a-f-]{36})/.exec(body) ?? [];
  const [, refreshed, last = 0] = /(?:^|&)refresh_token=refresh-([0-9a-f-]{36})-(\d+)/.exec(body) ?? [];
  if (code) counts.exchanged += 1;
  else if (refreshed) counts.refreshed += 1;
  else return null;
  const { accessToken, refreshToken } = tokensOf((code ?? refreshed)!, Number(last) + 1);
  return [
    code ? 200 : 201,
    { access_token: accessToken, refresh_token: refreshToken, expires_in: 28_800, token_type: "Bearer" },
  ];
}

function addonOf(uuid: string) {
  const app = { id: "01234567-89ab-4def-8123-456789abcdef", name: "sushi" };
  const at = "2026-01-01T00:00:00Z";
  return {
    id: uuid,
    name: "teapots-cubed-1234",
    state: "provisioning",
    app,
    config_vars: [],
    created_at: at,
    updated_at: at,
  };
}

process.on("message", (orders: Orders) => {
  if (orders.tokenMs !== undefined) {
    tokenMs = orders.tokenMs;
    for (const [timer, send] of held) {
      clearTimeout(timer);
      send();
    }
    held.clear();
  }
  // A parent that went away meanwhile hears nothing.
  process.send!(counts, () => undefined);
  counts.strange = [];
});
process.on("disconnect", () => process.exit());
server.listen(0, "127.0.0.1", () => process.send!({ port: (server.address() as AddressInfo).port }));
