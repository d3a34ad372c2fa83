import type { LedgerEntry } from "../../sandbox/index.ts";
import { aWorld } from "./world.ts";

it("The ledger holds every call both ways, in order", async () => {
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
  await world.close();
});

it("No secret stands in the ledger, in what onEntry is told, or in the state, unless it is to be revealed", async () => {
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

it("The ledger forgets its oldest entries beyond its size", async () => {
  const world = await aWorld({ ledgerSize: 20 });
  for (let count = 0; count < 50; count++) await world.call("SVCK-none", "/addons");
  const { entries, next } = world.control.ledger();
  expect(entries.length).toBeLessThanOrEqual(32);
  expect([entries.at(-1)?.seq, next]).toEqual([50, 50]);
  expect(world.control.ledger({ since: 48 }).entries.map(({ seq }) => seq)).toEqual([49, 50]);
  await world.close();
});
