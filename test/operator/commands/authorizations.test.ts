import { inOrder } from "../../platform/api-client.ts";
import { aClosedPort, type Answering, aServer } from "../../platform/local-server.ts";
import { startSandbox } from "../../../packages/sandbox/index.ts";
import { kit, kitJson } from "../../support/kit.ts";
import { opened } from "../../support/world.ts";

const ID = "01234567-89ab-cdef-0123-456789abcdef";
const RECORD = {
  id: ID,
  access_token: { expires_in: null, id: "1", token: "SVCK-brand-new" },
  refresh_token: { expires_in: null, id: "2", token: "refresh-brand-new" },
  grant: { code: "code-brand-new", expires_in: 300, id: "3" },
  client: { id: "4", name: "you", redirect_uri: "https://client.example" },
  scope: ["read"],
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-01T00:00:00Z",
};
const UNLIMITED = ["authorizations", "create", "--description", "dashboards"];
const CREATE = [...UNLIMITED, "--scope", "read"];
const USERS_TOKEN = "SVCK-of-the-user";

let answer: Answering;
const server = await aServer((seen, response) => answer(seen, response));
beforeEach(() => {
  answer = inOrder(RECORD);
  server.seen.length = 0;
});

/** The address is the only setting. */
const environment = { PLATFORM_API_URL: server.url, ALLOW_INSECURE_PLATFORM: "on" };
const run = (words: string[], input = `${USERS_TOKEN}\n`) => kit(environment, words, input);
const runJson = (words: string[], input = `${USERS_TOKEN}\n`) => kitJson(environment, words, input);

describe("kit authorizations create", () => {
  it("shows the new token once, in text and in JSON", async () => {
    const { code, stdout, stderr } = await run(CREATE);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`"token": "SVCK-brand-new"`);
    expect(stdout).not.toContain(USERS_TOKEN);
    expect(await runJson(CREATE)).toEqual({ code: 0, data: RECORD });
  });

  it("sends the scopes with the token from standard input", async () => {
    await run([...UNLIMITED, "--scope", "read", "identity", "--scope", "write-protected"]);
    expect(JSON.parse(server.seen[0]!.body)).toEqual({
      description: "dashboards",
      scope: ["read", "identity", "write-protected"],
    });
    expect(server.seen[0]!.headers.authorization).toBe(`Bearer ${USERS_TOKEN}`);
  });

  it.each([
    ["no token", CREATE, "\n"],
    ["a token of two words", CREATE, "Bearer SVCK-of-the-user"],
    ["an invalid id", ["authorizations", "revoke", ".."], USERS_TOKEN],
  ])("is a usage error with %s", async (_, words, input) => {
    const { code, data } = await runJson(words, input);
    expect(code).toBe(2);
    expect(data["message"]).not.toContain("of-the-user");
    expect(server.seen).toEqual([]);
  });

  it("names the missing setting of the platform's address", async () => {
    const { code, stderr } = await kit({}, CREATE, USERS_TOKEN);
    expect({ code, stderr }).toEqual({ code: 78, stderr: expect.stringContaining("PLATFORM_API_URL") });
    expect(stderr).not.toMatch(/DATABASE|ADDON|ENCRYPTION/);
  });
});

describe("kit authorizations revoke", () => {
  it("revokes the authorization, and shows none of its tokens", async () => {
    const { code, data } = await runJson(["authorizations", "revoke", "an id/of theirs"]);
    expect({ code, data }).toMatchObject({ code: 0, data: { id: ID, client: { name: "you" } } });
    expect(JSON.stringify(data)).not.toContain("brand-new");
    expect(data["access_token"]).toEqual({ expires_in: null, id: "1", token: "[secret]" });
    expect(server.seen).toMatchObject([
      { method: "DELETE", url: "/oauth/authorizations/an%20id%2Fof%20theirs" },
    ]);
    const human = await run(["authorizations", "revoke", ID]);
    expect(human).toMatchObject({ code: 0, stdout: expect.not.stringContaining("brand-new") });
  });
});

describe("an error answer of the platform", () => {
  it("is printed without the echoed token", async () => {
    answer = ({ headers }, response) =>
      response.writeHead(401).end(JSON.stringify({ id: "unauthorized", message: headers.authorization }));
    const { stdout, stderr } = await run(CREATE);
    expect(stdout + stderr).toContain("[secret]");
    expect(stdout + stderr).not.toContain("of-the-user");
  });

  it("is distinguished from a lost answer, after which an unknown token may exist", async () => {
    answer = (_, response) => void response.destroy();
    const { code, stderr } = await run(CREATE);
    expect(code).toBe(1);
    expect(stderr.replace(/\s+/g, " ")).toContain("look at your authorizations on the platform");
    const away = { ...environment, PLATFORM_API_URL: await aClosedPort() };
    expect(await kitJson(away, CREATE, USERS_TOKEN)).toMatchObject({
      code: 1,
      data: { id: "connection_failed" },
    });
  });
});

describe("kit authorizations against the sandbox", () => {
  const sandbox = opened(() => startSandbox({}));
  const settings = () => ({ PLATFORM_API_URL: sandbox.url, ALLOW_INSECURE_PLATFORM: "on" });
  const accountOf = async (token: string) => {
    const headers = { authorization: `Bearer ${token}`, accept: "application/vnd.svc+json; version=3" };
    return (await fetch(`${sandbox.url}/account`, { headers })).status;
  };

  it("creates a token that works and does not expire, and revokes it", async () => {
    const { token } = sandbox.control.userToken();
    const created = await kitJson(settings(), [...UNLIMITED, "--scope", "identity"], token);
    expect(created).toMatchObject({ code: 0, data: { access_token: { expires_in: null } } });
    const { id, access_token } = created.data as { id: string; access_token: { token: string } };
    sandbox.control.advanceClock(365 * 86_400);
    expect(await accountOf(access_token.token)).toBe(200);
    const fresh = sandbox.control.userToken();
    const revoked = await kitJson(settings(), ["authorizations", "revoke", id], fresh.token);
    expect(revoked).toMatchObject({ code: 0, data: { id, access_token: { token: "[secret]" } } });
    expect(await accountOf(access_token.token)).toBe(401);
    expect(await accountOf(fresh.token)).toBe(200);
  });
});
