import { randomBytes, randomUUID } from "node:crypto";
import http from "node:http";
import https from "node:https";
import { exampleOptions } from "../../sandbox/index.ts";
import type { Settings } from "../settings.ts";
import type { Inventory } from "./inventory.ts";
import { type Outgoing, type Reply, send } from "./wire.ts";

/** A call to the service that the sandbox would not make. */
export interface HandmadeCall {
  method: string;
  /** Appended to the path of resources: `/uuid`, or nothing. */
  below?: string;
  /** A string or a buffer is sent as it is, any other value as JSON. */
  body?: unknown;
  /** The Authorization header; null: none. Absent: the right credentials. */
  authorization?: string | null;
}

export const MEDIA_TYPE = "application/vnd.svc-addons+json; version=3";

export function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}

/** A valid provision request, with a grant that the platform does not know. */
export function aProvision(
  settings: Settings,
  change: Record<string, unknown> = {},
): Record<string, unknown> {
  const uuid = randomUUID();
  return {
    uuid,
    name: `conformance-${uuid.slice(0, 8)}`,
    plan: settings.plan,
    region: settings.region,
    options: {},
    callback_url: `https://api.platform.example/addons/${uuid}`,
    oauth_grant: aGrant(),
    ...change,
    ...withRequired(settings, change["options"]),
  };
}

/** What the manifest requires is there, whatever else a rule changes. */
function withRequired({ manifest }: Settings, options: unknown = {}) {
  const examples = exampleOptions(manifest);
  const isNeeded = Object.keys(examples).length > 0;
  return isNeeded ? { options: { ...examples, ...(options as object) } } : {};
}

export function aGrant(): { code: string; type: string; expires_at: string } {
  const end = new Date(Date.now() + 5 * 60_000).toISOString().slice(0, 19);
  return { code: randomBytes(20).toString("hex"), type: "authorization_code", expires_at: `${end}+0000` };
}

/** The same headers on all calls of a customer's browser, because a session may be bound to them. */
const BROWSER = { accept: "text/html,*/*;q=0.8", "accept-language": "en", "user-agent": "Mozilla/5.0" };

/** Calls that the sandbox would not make. */
export function createServiceCalls(
  settings: Settings,
  line: (outgoing: Outgoing, at?: string) => Promise<Reply>,
  inventory: Inventory,
) {
  function outgoing({ method, below = "", body, authorization }: HandmadeCall): Outgoing {
    const right = basic(settings.addonId, settings.addonPassword);
    const isRaw = typeof body === "string" || Buffer.isBuffer(body);
    return {
      method,
      path: settings.resourcesPath + below,
      headers: {
        accept: MEDIA_TYPE,
        ...(authorization !== null && { authorization: authorization ?? right }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: isRaw ? body : JSON.stringify(body) }),
    };
  }

  return {
    send: (call: HandmadeCall): Promise<Reply> => line(outgoing(call)),

    /** Several calls, one after the other, on one connection if the service keeps it open. */
    async onOneConnection(calls: readonly HandmadeCall[]): Promise<Reply[]> {
      const { Agent } = settings.url.startsWith("https:") ? https : http;
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const replies: Reply[] = [];
      try {
        for (const call of calls) {
          const one = outgoing(call);
          replies.push(await inventory.watch(one, (withinMs) => send(settings.url, one, withinMs, agent)));
        }
        return replies;
      } finally {
        agent.destroy();
      }
    },

    /** Posts the form with which a customer comes from the platform's dashboard. */
    signOn: (form: Record<string, string>): Promise<Reply> =>
      line({
        method: "POST",
        path: settings.ssoPath,
        headers: { ...BROWSER, "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams(form).toString(),
      }),

    /** Requests one of the service's pages, as a browser does. */
    visit: ({ origin, pathname, search }: URL, cookies: ReadonlyMap<string, string>): Promise<Reply> =>
      line(
        {
          method: "GET",
          path: pathname + search,
          headers: {
            ...BROWSER,
            ...(cookies.size > 0 && { cookie: [...cookies].map((pair) => pair.join("=")).join("; ") }),
          },
        },
        origin,
      ),
  };
}

export type ServiceCalls = ReturnType<typeof createServiceCalls>;
