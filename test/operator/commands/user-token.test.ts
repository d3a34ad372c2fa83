import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Sandbox, startSandbox } from "../../../packages/sandbox/index.ts";
import { kitJson } from "../../support/kit.ts";

interface Made {
  id: string;
  access_token: { token: string; expires_in: number | null };
  scope: string[];
}

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
