import type { LedgerEntry } from "../index.ts";
import { success } from "./partner.ts";
import { aWorld, type TestWorld } from "./world.ts";

it("the ledger contains every call in both directions, in order", async () => {
  const world = await aWorld();
  const { addon, token } = await world.installed();
  await world.call(token, `/addons/${addon.id}`);
  const { entries, next } = world.control.ledger();
  expect(entries.map(({ seq, direction, method, path }) => [seq, direction, method, path])).toEqual([
    [1, "out", "POST", "/resources"],
    [2, "in", "POST", "/oauth/token"],
    [3, "in", "GET", `/addons/${addon.id}`],
  ]);
  expect(entries[1]).toMatchObject({
    request: { body: { grant_type: "authorization_code" } },
    response: { status: 200, body: { expires_in: 28_800 } },
  });
  expect(world.control.ledger({ since: 2 }).entries.map(({ seq }) => seq)).toEqual([3]);
  expect(next).toBe(3);
  expect(world.control.ledger({ since: 3 }).entries).toEqual([]);
  // Of a sandbox that was started anew.
  expect(world.control.ledger({ since: 4 }).entries).toHaveLength(3);
  await world.close();
});

it("the ledger, onEntry and the state show no secret without reveal", async () => {
  const told: LedgerEntry[] = [];
  const world = await aWorld({ onEntry: (entry) => told.push(entry) });
  const { addon, token, refreshToken } = await world.installed();
  const code = world.lastCode();
  const config = [{ name: "WIDGET_TOKEN", value: "a-value-of-config" }];
  await world.call(token, `/addons/${addon.id}/config`, { method: "PATCH", json: { config } });
  await world.call(token, `/addons/${code}`);
  await world.call(token, `/addons?forgotten=${token}`);
  const { clientSecret: former, addonPassword } = world.sandbox.settings;
  world.control.resetClientSecret();
  await world.refresh(refreshToken, former);
  await world.refresh(refreshToken);
  const { clientSecret } = world.sandbox.settings;
  const basic = Buffer.from(`widgets:${addonPassword}`).toString("base64");
  const secrets = [
    token,
    refreshToken,
    code,
    former,
    clientSecret,
    addonPassword,
    basic,
    "a-value-of-config",
  ];
  const shown = JSON.stringify([world.control.ledger(), told, world.control.state()]);
  const revealed = JSON.stringify(world.control.ledger({ reveal: true }));
  expect(secrets.filter((secret) => shown.includes(secret))).toEqual([]);
  expect(secrets.filter((secret) => !revealed.includes(secret))).toEqual([addonPassword]);
  expect(shown).toContain("Bearer [secret]");
  await world.close();
});

it("the ledger masks config values also in bodies that are not JSON or not declared as such", async () => {
  const world = await aWorld();
  const { addon, token } = await world.installed();
  const secret = "a-value-of-config";
  const values = JSON.stringify({ config: [{ name: "WIDGET_TOKEN", value: secret }] });
  for (const contentType of ["text/plain", "application/x-www-form-urlencoded"]) {
    const headers = { "content-type": contentType };
    await world.call(token, `/addons/${addon.id}/config`, { method: "PATCH", headers, body: values });
    await world.call(token, `/apps/${addon.app.id}/config-vars`, { method: "PATCH", headers, body: values });
    world.partner.answers({ status: 200, contentType, body: values });
    await world.control.changePlan(addon.id, "premium");
    await world.control.install();
  }
  world.partner.answers({ status: 200, body: values.slice(0, -1) });
  await world.control.install();
  world.partner.answers({ status: 200, body: { id: "p-1", config: `WIDGET_TOKEN=${secret}` } });
  await world.control.install();
  world.partner.answers({ status: 200, body: { id: "p-1", config: [secret, { WIDGET_TOKEN: secret }] } });
  await world.control.install();
  const { entries } = world.control.ledger();
  expect(JSON.stringify(entries)).not.toContain(secret);
  const patched = entries.find(({ method }) => method === "PATCH");
  expect(patched?.request.body).toBe(`[no JSON object: ${values.length} bytes]`);
  expect(JSON.stringify(world.control.ledger({ reveal: true })).split(secret).length).toBeGreaterThan(10);
  await world.close();
});

it("the ledger shows values that are not secret", async () => {
  const world = await aWorld();
  await world.control.install({ plan: "basic", options: { size: "2" } });
  expect(world.control.ledger().entries.at(-1)).toMatchObject({
    request: {
      body: {
        uuid: expect.any(String),
        ...{ name: expect.stringMatching(/^widgets-/), plan: "basic", region: "us" },
        callback_url: expect.stringMatching(/^http/),
        oauth_grant: {
          code: "[secret]",
          type: "authorization_code",
          expires_at: expect.stringMatching(/^20/),
        },
      },
    },
    response: { body: { id: expect.any(String), message: "Ready.", config: { WIDGET_URL: "[secret]" } } },
  });
  await world.close();
});

it("the ledger masks the address and token of a log drain, by whichever key it is named", async () => {
  const world = await aWorld();
  const { addon, token } = await world.installed();
  const drains = `/apps/${addon.app.id}/log-drains`;
  const url = "https://user:let-me-in@logs.example.com/in";
  const made = await world.call<{ id: string; token: string }>(token, drains, {
    method: "POST",
    json: { url },
  });
  const put = { method: "PUT", json: { url: `${url}/2` } };
  await world.call(token, `/addons/${addon.id}/log-drains/${encodeURIComponent(url)}`, put);
  await world.call(token, drains);
  for (const name of [made.body.id, made.body.token]) await world.call(token, `${drains}/${name}`);
  const { entries } = world.control.ledger();
  const shown = JSON.stringify(entries);
  for (const secret of ["let-me-in", made.body.token]) expect(shown).not.toContain(secret);
  expect(entries.map(({ path }) => path).slice(-5)).toEqual([
    drains,
    `/addons/${addon.id}/log-drains/[secret]`,
    drains,
    `${drains}/${made.body.id}`,
    `${drains}/[secret]`,
  ]);

  // Nor when a refusal repeats the path, or the address itself appears in it.
  const remove = { method: "DELETE" };
  for (const name of [encodeURIComponent(url), `${encodeURIComponent(url)}%`, `${url}?let-me-in`]) {
    const { status } = await world.call(token, `/addons/${addon.id}/log-drains/${name}`, remove);
    expect(status).toBeGreaterThanOrEqual(400);
  }
  const refused = world.control.ledger().entries.slice(-3);
  expect(JSON.stringify(refused)).not.toContain("let-me-in");
  expect(refused[0]!.response?.body).toMatchObject({
    message: `The platform has no DELETE /addons/${addon.id}/log-drains/[secret].`,
  });
  await world.close();
});

it("the ledger drops its oldest entries beyond its size", async () => {
  const world = await aWorld({ ledgerSize: 20 });
  for (let count = 0; count < 50; count++) await world.call("SVCK-none", "/addons");
  const { entries, next } = world.control.ledger();
  expect(entries.length).toBeLessThanOrEqual(32);
  expect([entries.at(-1)?.seq, next]).toEqual([50, 50]);
  expect(world.control.ledger({ since: 48 }).entries.map(({ seq }) => seq)).toEqual([49, 50]);
  await world.close();
});

describe("a part of the ledger", () => {
  let world: TestWorld;
  beforeAll(async () => {
    world = await aWorld();
  });
  afterAll(() => world.close());
  const read = async (query: string) => {
    const response = await fetch(`${world.sandbox.url}/sandbox/ledger?${query}`);
    const body = (await response.json()) as { entries: LedgerEntry[]; next: number; message?: string };
    return { status: response.status, ...body };
  };
  const pathsOf = ({ entries }: { entries: LedgerEntry[] }) =>
    entries.map(({ method, path }) => `${method} ${path.split("?")[0]}`);

  it("is read by the words of a fault, by status, by complaints, and in pages", async () => {
    const since = world.control.ledger().next;
    const { token } = await world.installed();
    await world.call(token, "/apps?a=1");
    await world.call("SVCK-none", "/apps");
    world.partner.answers({ status: 200, body: "nonsense" });
    await world.control.install();
    world.partner.answers(success);
    const from = `since=${since}`;
    expect(pathsOf(await read(`${from}&match=> POST /resources`))).toEqual([
      "POST /resources",
      "POST /resources",
    ]);
    expect(pathsOf(await read(`${from}&match=/apps`))).toEqual(["GET /apps", "GET /apps"]);
    expect(pathsOf(await read(`${from}&status=401`))).toEqual(["GET /apps"]);
    expect(pathsOf(await read(`${from}&status=2xx&match=GET /*`))).toEqual(["GET /apps"]);
    const { entries } = await read(`${from}&complaints=1`);
    expect(entries.map(({ complaints }) => complaints!.length > 0)).toEqual([true]);
    const first = await read(`${from}&limit=2`);
    const rest = await read(`since=${first.next}`);
    expect([...pathsOf(first), ...pathsOf(rest)]).toEqual(pathsOf(await read(from)));
    expect(first.entries).toHaveLength(2);
  });

  it("is answered as soon as a call that fits has ended", async () => {
    const { next } = world.control.ledger();
    const waiting = read(`since=${next}&match=GET /pipelines&wait=60`);
    await world.call("SVCK-none", "/apps");
    await world.call("SVCK-none", "/pipelines");
    expect(pathsOf(await waiting)).toEqual(["GET /pipelines"]);
    const never = { since: next, match: "GET /teams/*" };
    const { signal } = new AbortController();
    expect(await world.control.awaitLedger(never, 1, signal)).toMatchObject({ entries: [] });
  });

  it.each([
    "limit=0",
    "limit=many",
    "match=nonsense",
    "status=6xx",
    "status=2",
    "wait=61",
    "since=-1",
    "filter=a",
  ])("is refused with %s", async (query) => {
    expect(await read(query)).toMatchObject({ status: 422, message: expect.any(String) });
  });
});
