import { jest } from "@jest/globals";
import { type Sandbox, type StartOptions, startSandbox } from "../index.ts";
import { aPartner } from "./partner.ts";

export const manifest = {
  id: "widgets",
  plans: [{ name: "basic" }, { name: "premium" }],
  regions: ["us"],
  config_vars: ["WIDGET_URL", "WIDGET_TOKEN"],
};

export interface TokenBody {
  access_token: string;
  refresh_token: string;
  expires_in: number;
  token_type: string;
  error?: string;
  error_description?: string;
}

const stopped = new Set<() => void>();

/** Returns a function that resumes it; the world does so when it is closed. */
function stopClock(clock: { now(): number }): () => void {
  const now = jest.spyOn(clock, "now").mockReturnValue(clock.now());
  const resume = () => {
    stopped.delete(resume);
    now.mockRestore();
  };
  stopped.add(resume);
  return resume;
}

/** Stops the time, except for what the control API adds, so that nothing expires and no bucket refills by itself. */
export const stopTime = () => stopClock(Date);

/** Holds all that a fault delays, however slow the machine is: what is delayed looks at this clock. */
export const holdDelays = () => stopClock(performance);

/** A sandbox with its partner, and the calls that a partner makes; `close` closes both. */
export async function aWorld(options: StartOptions = {}) {
  const partner = await aPartner();
  const sandbox = await startSandbox({
    partnerUrl: partner.url,
    addonManifest: manifest,
    ssoSalt: "a-sign-on-salt-of-tests",
    ...options,
  });
  return {
    partner,
    sandbox,
    ...client(sandbox),
    /** How long the platform waits for an answer of the service. */
    waitsForService: (ms: number) => void Object.assign(sandbox.settings, { partnerTimeoutMs: ms }),
    async close() {
      for (const resume of stopped) resume();
      await sandbox.close();
      await partner.close();
    },
  };
}

export type TestWorld = Awaited<ReturnType<typeof aWorld>>;

export function client(sandbox: Sandbox) {
  const { control } = sandbox;

  async function post(form: Record<string, string>, headers: Record<string, string> = {}) {
    const response = await fetch(`${sandbox.url}/oauth/token`, {
      method: "POST",
      body: new URLSearchParams(form),
      headers,
    });
    return { status: response.status, headers: response.headers, body: (await response.json()) as TokenBody };
  }
  const client_secret = () => sandbox.settings.clientSecret;

  function exchange(code: string, secret = client_secret()) {
    return post({ grant_type: "authorization_code", code, client_secret: secret });
  }
  function refresh(refresh_token: string, secret = client_secret()) {
    return post({ grant_type: "refresh_token", refresh_token, client_secret: secret });
  }
  /** The code in the last provision request. */
  function lastCode(): string {
    const { entries } = control.ledger({ reveal: true });
    const request = entries.findLast(
      ({ direction, method }) => direction === "out" && method === "POST",
    )?.request;
    return (request?.body as { oauth_grant: { code: string } }).oauth_grant.code;
  }
  async function call<Body = unknown>(
    token: string,
    path: string,
    init: RequestInit & { json?: unknown } = {},
  ) {
    const { json, ...rest } = init;
    const response = await fetch(sandbox.url + path, {
      ...rest,
      headers: {
        authorization: `Bearer ${token}`,
        accept: "application/vnd.svc+json; version=3",
        ...(json !== undefined && { "content-type": "application/json" }),
        ...(init.headers as Record<string, string> | undefined),
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text ? JSON.parse(text) : null) as Body,
    };
  }
  /** Installs an add-on and exchanges its grant. */
  async function installed(wish: Parameters<typeof control.install>[0] = {}) {
    const { addon } = await control.install(wish);
    const { body } = await exchange(lastCode());
    return { addon, token: body.access_token, refreshToken: body.refresh_token };
  }
  return { control, post, exchange, refresh, lastCode, call, installed };
}
