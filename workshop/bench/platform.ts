import type { AddressInfo } from "node:net";
import { createBareServer } from "./bare-server.ts";
import { tokensOf } from "./provisions.ts";

// A minimal platform for the benches: a process of its own that does little and counts every call. Each token names its
// resource and the number of its pair, so that the checks can tell whether a stored token belongs there. The parent
// reads the counts and sets the delay over the IPC channel.

/**
 * What the parent sends: the delay of the token endpoint from now on, in ms. Each message is answered with {@link
 * Counts}.
 */
export interface Orders {
  tokenMs?: number;
}

/** The number of calls since the start: exchanges, refreshes, and calls of the API. */
export interface Counts {
  exchanged: number;
  refreshed: number;
  api: number;
  /** The first calls that the platform did not know; each is reported once. */
  strange: string[];
}

/** At most this many unknown calls are reported. */
const MOST_STRANGE = 3;

const counts: Counts = { exchanged: 0, refreshed: 0, api: 0, strange: [] };
let tokenMs = 0;
/** Delayed answers of the token endpoint; a new order for the delay sends them at once. */
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
  // The service reads the status feed while its calls stay unanswered for long, as in the benches of provisions.
  if (path === "/api/v4/current-status") return [200, QUIET];
  // The operator's overview examines the connection to the platform.
  if (method === "GET" && (path === "/" || path === "/addons")) return [200, []];
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

/** A refresh token that never existed, by which the overview asks whether the client secret is right. */
const NEVER_ISSUED = /(?:^|&)refresh_token=[0-9a-f-]{36}(?:&|$)/;

/**
 * The next pair after the one whose refresh token was sent, or the first pair for a grant code. Null: neither was sent.
 */
function tokenAnswer(body: string): [number, unknown] | null {
  const [, code] = /(?:^|&)code=grant-([0-9a-f-]{36})/.exec(body) ?? [];
  const [, refreshed, last = 0] = /(?:^|&)refresh_token=refresh-([0-9a-f-]{36})-(\d+)/.exec(body) ?? [];
  if (NEVER_ISSUED.test(body)) return [400, { error: "invalid_grant" }];
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
  // Ignores the error if the parent has gone.
  process.send!(counts, () => undefined);
  counts.strange = [];
});
process.on("disconnect", () => process.exit());
server.listen(0, "127.0.0.1", () => process.send!({ port: (server.address() as AddressInfo).port }));
