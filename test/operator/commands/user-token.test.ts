import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Sandbox, startSandbox } from "../../../packages/sandbox/index.ts";
import { kit, kitJson } from "../../support/kit.ts";

interface Made {
  id: string;
  access_token: { token: string; expires_in: number | null };
  scope: string[];
}

/** A user's own actions at the platform: a token by `kit authorizations`, and `kit status`. */
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({});
});
afterAll(() => sandbox.close());

const environment = () => ({ PLATFORM_API_URL: sandbox.url, ALLOW_INSECURE_PLATFORM: "on" });
const accountOf = async (token: string) => {
  const headers = { authorization: `Bearer ${token}`, accept: "application/vnd.svc+json; version=3" };
  return (await fetch(`${sandbox.url}/account`, { headers })).status;
};

async function create(token: string, ...words: string[]) {
  const all = ["authorizations", "create", "--description", "dashboards", ...words];
  return kitJson<Made>(environment(), all, token);
}

describe("kit authorizations against the sandbox", () => {
  it("creates a token that works and does not expire, and revokes it", async () => {
    const { token } = sandbox.control.userToken();
    const { code, data } = await create(token, "--scope", "identity");
    expect({ code, data }).toMatchObject({ code: 0, data: { scope: ["identity"] } });
    expect(data.access_token.expires_in).toBeNull();
    expect(await accountOf(data.access_token.token)).toBe(200);
    sandbox.control.advanceClock(365 * 86_400);
    expect(await accountOf(data.access_token.token)).toBe(200);

    const fresh = sandbox.control.userToken();
    const revoked = await kitJson(environment(), ["authorizations", "revoke", data.id], fresh.token);
    expect(revoked).toMatchObject({
      code: 0,
      data: { id: data.id, access_token: { token: "[secret]" } },
    });
    expect(await accountOf(data.access_token.token)).toBe(401);
    expect(await accountOf(fresh.token)).toBe(200);
  });
});

describe("kit status against the sandbox", () => {
  const status = (...words: string[]) =>
    kitJson({ PLATFORM_STATUS_URL: sandbox.url, ALLOW_INSECURE_PLATFORM: "on" }, ["status", ...words]);

  it("shows an incident from its start to its end", async () => {
    const { control } = sandbox;
    const { id } = control.openIncident({ title: "Apps are slow", systems: ["Apps"] });
    expect(await status()).toMatchObject({ code: 0, data: { incidents: [{ id, resolved: false }] } });
    control.updateIncident(id, { contents: "We found it." });
    const { stdout } = await kit({ PLATFORM_STATUS_URL: sandbox.url, ALLOW_INSECURE_PLATFORM: "on" }, [
      "status",
    ]);
    expect(stdout).toMatch(/1 incident open:\n\n#\d+ Apps are slow[^]*We found it\./);
    control.resolveIncident(id);
    expect(await status()).toMatchObject({ code: 0, data: { incidents: [] } });
    expect(await status("--incident", String(id))).toMatchObject({ code: 0, data: { id, resolved: true } });
    expect(await status("--since", "2000-01-01", "--per-page", "1")).toMatchObject({
      code: 0,
      data: [{ id }],
    });
    expect(await status("--since", "2999-01-01")).toEqual({ code: 0, data: [] });
    expect(await status("--incident", "999999")).toMatchObject({ code: 1, data: { id: "unknown_incident" } });
  });
});
