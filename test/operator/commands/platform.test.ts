import { refreshNow } from "../../../src/credentials/pools.ts";
import { tokensOf } from "../../../src/credentials/token-source.ts";
import type { Report } from "../../../src/operator/work-through.ts";
import { credentialSealContext } from "../../../src/vault/vault.ts";
import { kit, kitJson } from "../../support/kit.ts";
import { aWorld, opened } from "../../support/world.ts";

const UNKNOWN = "01234567-89ab-cdef-0123-456789abcdef";

let uuids: string[];
/** The first of them. */
let uuid: string;
/** The output of the commands that refresh. */
const said: string[] = [];
// Without sweeps, so that only kit acts.
const world = opened(() => aWorld({ environment: { WEB_JOBS: "off" } }));
beforeAll(async () => {
  uuids = await world.installed(3);
  uuid = uuids[0]!;
});

const generations = () =>
  world.rows<{ generation: number }>(`SELECT generation FROM credentials ORDER BY uuid`);

async function refresh(...words: string[]) {
  const answer = await kitJson<Report>(world.environment, ["tokens", "refresh", ...words]);
  said.push(JSON.stringify(answer.data));
  return answer;
}

describe("kit tokens refresh", () => {
  it("refreshes the named resources, and says why others were not", async () => {
    await world.forged.grantWasLost(uuids[1]!);
    const { code, data } = await refresh(uuids[0]!, uuids[1]!, UNKNOWN);
    expect(code).toBe(1);
    expect(data).toEqual({
      done: [uuids[0]],
      failed: [{ uuid: UNKNOWN, id: "not_found", message: expect.any(String) }],
      skipped: [{ uuid: uuids[1], reason: "grant_lost" }],
    });
    expect((await generations()).map(({ generation }) => generation)).toEqual([2, 1, 1]);
  });

  it("refreshes all working tokens with --all", async () => {
    const { code, data } = await refresh("--all");
    expect({ code, ...data, done: data.done.sort() }).toEqual({
      ...{ code: 0, done: [uuids[0], uuids[2]], failed: [] },
      skipped: [{ uuid: uuids[1], reason: "grant_lost" }],
    });
    await world.forged.tokensAre("active", uuids[1]);
  });

  it("fails for a token that another process is refreshing", async () => {
    await world.forged.tokensAreTakenByAnother(uuids[1]!, 3_600);
    const { code, data } = await refresh(uuids[1]!);
    expect({ code, ...data }).toMatchObject({ code: 1, done: [], skipped: [], failed: [{ id: "busy" }] });
    expect(data.failed[0]!.message).toContain("try again");
  });

  it("skips a working token that has no refresh token", async () => {
    await world.forged.refreshTokenIsMissing(uuids[2]!);
    const { data } = await refresh(uuids[2]!);
    expect(data.skipped).toEqual([{ uuid: uuids[2], reason: "no_refresh_token" }]);
  });
});

it("the output of kit tokens contains no token and no secret", () => {
  const { ADDON_PASSWORD, CLIENT_SECRET, ENCRYPTION_KEY } = world.environment;
  for (const secret of [ADDON_PASSWORD, CLIENT_SECRET, ENCRYPTION_KEY, "SVCK-"])
    expect(said.join("\n")).not.toContain(secret);
});

const run = <Data>(words: string[]) => kitJson<Data>(world.environment, words);
/** Calls the platform with the resource's token. */
const api = <Body = object>(path: string, ...options: string[]) =>
  run<{ headers: object; body: Body }>(["api", "GET", path, "--resource", uuid, ...options]);

it("kit apps lists the primary app and every attachment", async () => {
  const other = world.sandbox.control.createApp({});
  world.sandbox.control.attach(uuid, { app: other.id, name: "SPARE_TEAPOT" });
  const { code, data } = await run<{ attachments: object[] }>(["apps", uuid]);
  const named = { id: expect.any(String), name: expect.any(String) };
  expect({ code, data }).toEqual({ code: 0, data: { primary: named, attachments: expect.any(Array) } });
  expect(data.attachments).toContainEqual({
    ...named,
    name: "SPARE_TEAPOT",
    app: { id: other.id, name: other.name },
  });
});

describe("kit api", () => {
  it("prints the platform's answer", async () => {
    const { code, data } = await run(["api", "get", `/addons/${uuid}`, "--resource", uuid]);
    expect({ code, data }).toMatchObject({ code: 0, data: { status: 200, body: { id: uuid } } });
    expect(data).toHaveProperty(["headers", "request-id"]);
  });

  it("sends data, and exits with 1 on an error answer", async () => {
    const config = JSON.stringify({ config: [{ name: "KETTLE", value: "on" }] });
    const words = ["api", "PATCH", `/addons/${uuid}/config`, "--resource", uuid, "--data", config];
    const refused = { status: 422, body: { id: "invalid_params" } };
    expect(await run(words)).toMatchObject({ code: 1, data: refused });
  });

  it("masks tokens in the answer, also without the prefix, unless --reveal is given", async () => {
    const { vault } = world.service.services;
    const token = (await tokensOf(world.service.services, uuid).current()).reveal();
    const echo = (said: string) =>
      world.sandbox.control.fault("GET /addons/*", {
        status: 200,
        headers: { "x-echo": said },
        body: { deep: [{ said: `Bearer ${said}` }], number: 5 },
      });
    const path = `/addons/${uuid}`;
    echo(token);
    expect((await api(path)).data).toMatchObject({
      headers: { "x-echo": "[secret]" },
      body: { deep: [{ said: "Bearer [secret]" }], number: 5 },
    });
    echo(token);
    const human = await kit(world.environment, ["api", "GET", path, "--resource", uuid]);
    expect(human.stdout).not.toContain(token);
    echo(token);
    expect((await api(path, "--reveal")).data.body).toMatchObject({ deep: [{ said: `Bearer ${token}` }] });
    const sealed = vault.seal(credentialSealContext("sealed_access_token", uuid), "issued-long-ago");
    await world.forged.accessTokenIs(uuid, sealed);
    echo("issued-long-ago");
    expect((await api(path)).data.body).toMatchObject({ deep: [{ said: "Bearer [secret]" }] });
    await refreshNow(world.service.services, uuid);
  });

  it("masks secret members by name: config vars, tokens, log addresses, unless --reveal is given", async () => {
    const config = `/addons/${uuid}/config`;
    const { data: revealed } = await api<{ name: string; value: string }[]>(config, "--reveal");
    expect(revealed.body).toContainEqual({ name: "TEAPOT_URL", value: expect.stringMatching(/^https:/) });
    const { data: shown } = await api(config);
    expect(shown.body).toEqual(revealed.body.map(({ name }) => ({ name, value: "[secret]" })));

    const open = { name: "x", url: "https://teapots.example/", value: null, id: "1", expires_in: 5 };
    const answer = (secret: string) => ({
      ...open,
      access_token: { id: "1", token: secret },
      grant: { code: secret },
      client: { name: "x", secret },
      session: { session_nonce: secret, password: "" },
      config: { KETTLE: secret, "KETTLE-TOO": secret },
      drains: [{ id: "1", token: secret, url: secret }],
      Log_Input_URL: secret,
      log_drain_url: secret,
    });
    const said = { status: 200, headers: { "set-cookie": "a=hidden" }, body: answer("hidden") };
    world.sandbox.control.fault("GET /addons/*", said, 2);
    expect((await api(`/addons/${uuid}`)).data).toMatchObject({
      ...{ headers: { "set-cookie": ["[secret]"] } },
      body: { ...answer("[secret]"), session: { session_nonce: "[secret]", password: "" } },
    });
    expect((await api(`/addons/${uuid}`, "--reveal")).data.body).toMatchObject(answer("hidden"));
  });

  it("masks all values of an app's config vars", async () => {
    world.sandbox.control.fault("GET /apps/*/config-vars", { status: 200, body: { KETTLE: "hidden", POT: "hidden" } }); // prettier-ignore
    const { data } = await api("/apps/teapots/config-vars?x=1");
    expect(data.body).toEqual({ KETTLE: "[secret]", POT: "[secret]" });
    const refused = await api("/apps/teapots/config-vars");
    expect(refused.data.body).toMatchObject({ id: expect.not.stringContaining("[secret]") });
  });

  it("masks tokens and our secrets in an error answer of any form", async () => {
    const token = (await tokensOf(world.service.services, uuid).current()).reveal();
    const secret = world.environment["ADDON_PASSWORD"]!;
    const body = { id: "invalid_params", message: `Not with Bearer ${token} of ${secret}.` };
    world.sandbox.control.fault("GET /addons/*", { status: 422, body }, 9);
    const people = await kit(world.environment, ["apps", uuid]);
    const script = await kit(world.environment, ["apps", uuid, "--json"]);
    world.sandbox.control.clearFaults();
    for (const { code, stdout, stderr } of [people, script]) {
      expect(code).toBe(1);
      expect(stdout + stderr).toContain("Not with Bearer");
      for (const hidden of [token, secret]) expect(stdout + stderr).not.toContain(hidden);
    }
  });

  it("sends a resource's token for no other resource", async () => {
    for (const path of [`/addons/${UNKNOWN}`, "/", "https://elsewhere.example/"])
      expect(await api(path)).toMatchObject({ code: 2 });
  });
});
