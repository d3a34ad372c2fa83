import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { aRefusingDatabase } from "../../support/refusing-database.ts";
import { aWorld, eventually, type World } from "../../support/world.ts";
import { HOW_TO_FIX_NODE, missingNodeFixes } from "../../../src/node-version.ts";
import { examine } from "../../../src/operator/doctor/doctor.ts";
import { manifest } from "../../../src/operator/doctor/manifest-check.ts";
import { buildText } from "../../../src/version.ts";
import { kit, kitJson } from "../../support/kit.ts";

interface Report {
  ok: boolean;
  checks: { id: string; ok: boolean; message: string; fix: string | null; isChecked?: boolean }[];
  failed: number;
  notChecked: number;
}

const IDS = [
  "settings",
  "offer",
  "database",
  "clocks",
  "migrations",
  "plans",
  "keys",
  "secret",
  "sweeps",
  "tokens",
  "platform",
  "status",
  "sign-in",
  "operators",
  "passwords",
  "version",
  "manifest",
  "steps",
  "lost",
  "attention",
];
const NOWHERE = "http://127.0.0.1:9";

let world: World;
let uuid: string;
beforeAll(async () => {
  world = await aWorld();
  uuid = (await world.sandbox.control.install({ plan: "basic" })).addon.id;
  await eventually(
    async () => (await world.rows(`SELECT 1 FROM credentials WHERE state = 'active'`)).length > 0,
  );
  await eventually(async () => (await world.rows(`SELECT 1 FROM heartbeats`)).length > 0);
});
afterAll(() => world.close());

async function doctor(change: Record<string, string> = {}) {
  const { code, data } = await kitJson<Report>({ ...world.environment, ...change }, ["doctor"]);
  return {
    code,
    ok: data.ok,
    counts: [data.failed, data.notChecked],
    ids: data.checks.map(({ id }) => id),
    of: (id: string) => data.checks.find((each) => each.id === id)!,
  };
}

describe("kit doctor", () => {
  it("finds no fault in a running service", async () => {
    const { code, ok, ids, of } = await doctor();
    expect({ code, ok, ids }).toEqual({ code: 0, ok: true, ids: IDS });
    expect(of("keys")).toEqual({ id: "keys", ok: true, message: expect.any(String), fix: null });
    const human = await kit(world.environment, ["doctor"]);
    expect(human).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringMatching(/^! settings [^✓]*\n✓ offer .*\n✓ database /),
    });
    const hasFixes = missingNodeFixes() === null;
    expect(human.stdout).toContain(`No check failed; to look at: settings${hasFixes ? "" : ", version"}.`);
    expect(of("settings").message).toMatch(/^ALLOW_INSECURE_PLATFORM is on: [^.]+\.$/);
    expect(of("version")).toMatchObject({ ok: true, fix: hasFixes ? null : HOW_TO_FIX_NODE });
    expect(of("version").message).toContain(`${buildText}.`);
  });

  it("warns of what is safe in development alone", async () => {
    const { of } = await doctor({
      PUBLIC_URL: "http://addon.example.com",
      NODE_TLS_REJECT_UNAUTHORIZED: "0",
    });
    expect(of("settings")).toMatchObject({ ok: true, fix: expect.any(String) });
    for (const said of [
      "ALLOW_INSECURE_PLATFORM is on",
      "PUBLIC_URL is not https",
      "NODE_TLS_REJECT_UNAUTHORIZED is 0",
    ])
      expect(of("settings").message).toContain(said);
  });

  it("warns of two equal secrets", async () => {
    const { ADDON_PASSWORD } = world.environment;
    const { code, of } = await doctor({ OPERATOR_PASSWORD: ADDON_PASSWORD! });
    expect(code).toBe(0);
    expect(of("passwords").message).toMatch(/^ADDON_PASSWORD and OPERATOR_PASSWORD are the same/);
    const metrics = (await doctor({ METRICS_PASSWORD: ADDON_PASSWORD! })).of("passwords");
    expect(metrics.message).toMatch(/^ADDON_PASSWORD and METRICS_PASSWORD are the same/);
  });

  it("warns of a plan in use that is no longer on offer", async () => {
    await world.rows(`UPDATE resources SET plan = 'bygone' WHERE uuid = $1`, [uuid]);
    const { code, of } = await doctor();
    await world.rows(`UPDATE resources SET plan = 'basic' WHERE uuid = $1`, [uuid]);
    expect(code).toBe(0);
    expect(of("plans")).toMatchObject({
      ok: true,
      message: "Customers have plans that are not on offer: bygone (1 resource).",
      fix: expect.stringContaining("src/your-service/plans.ts"),
    });
  });

  it("warns of a line end after the client secret", async () => {
    const { code, of } = await doctor({ CLIENT_SECRET: `${world.environment["CLIENT_SECRET"]}\n` });
    expect({ code, settings: of("settings") }).toMatchObject({
      code: 0,
      settings: { ok: true, message: expect.stringMatching(/^CLIENT_SECRET ended with a line end/) },
    });
  });

  it("runs when a key is missing, and names it", async () => {
    const { code, of } = await doctor({ ENCRYPTION_KEY: "a-key-that-sealed-nothing-".repeat(2) });
    expect(code).toBe(1);
    expect(of("keys").message).toContain(world.service.services.vault.keyId);
    expect(of("keys").fix).toContain("DECRYPTION_KEYS");
    expect(of("secret").ok).toBe(false);
    const other = await kitJson(
      { ...world.environment, ENCRYPTION_KEY: "a-key-that-sealed-nothing-".repeat(2) },
      ["apps", uuid],
    );
    expect(other).toMatchObject({ code: 78, data: { id: "misconfigured" } });
  });

  it("says when an old key can be removed", async () => {
    const { ok, of } = await doctor({ DECRYPTION_KEYS: "an-old-key-that-is-not-in-use-".repeat(2) });
    expect(ok).toBe(true);
    expect(of("keys").fix).toContain("can be dropped 12 hours after");
    // At the first step of a key change the new key is in DECRYPTION_KEYS.
    expect(of("keys").fix).toContain("A new one stays");
  });

  it("checks the app manifest if there is one, and whether it gives the app what is required", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "doctor-"));
    const { required } = world.service.services.config;
    expect(required).toEqual(expect.arrayContaining(["DATABASE_URL", "ADDON_ID", "ENCRYPTION_KEY"]));
    const look = async (app: unknown, needed = required) => {
      await writeFile(path.join(folder, "app.json"), typeof app === "string" ? app : JSON.stringify(app));
      return manifest(folder, needed);
    };
    try {
      expect(await manifest(folder, required)).toMatchObject({ ok: true, fix: null });
      const ours = JSON.parse(await readFile("app.json", "utf8")) as { env: object };
      expect(await look(ours)).toMatchObject({ ok: true, fix: null });
      for (const env of [{}, { SHOP_URL: { required: false } }, { SHOP_URL: "" }])
        expect(
          await look({ ...ours, env: { ...ours.env, ...env } }, [...required, "SHOP_URL"]),
        ).toMatchObject({
          ...{ ok: true, fix: expect.stringContaining("env") },
          message: expect.stringMatching(
            /^SHOP_URL is required, and app.json does not ask for it[^]*not start/,
          ),
        });
      for (const env of [{ SHOP_URL: "https://shop.example" }, { SHOP_URL: {} }])
        expect(
          await look({ ...ours, environments: {}, env: { ...ours.env, ...env } }, [...required, "SHOP_URL"]),
        ).toMatchObject({ ok: true, fix: null });
      expect((await look({ ...ours, addons: [] })).message).toContain("DATABASE_URL is required");
      expect(await look(`{"name": "${"x".repeat(31)}", "env": {"A": 1}}`)).toMatchObject({
        ok: false,
        message: expect.stringContaining("breaks 2 rules"),
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("works when the platform is away", async () => {
    const { code, of } = await doctor({ PLATFORM_API_URL: NOWHERE });
    expect(code).toBe(1);
    expect(of("platform")).toMatchObject({ ok: false, message: expect.stringContaining("PLATFORM_API_URL") });
  });

  it.each([
    [
      "is in trouble",
      { status: 503 },
      "PLATFORM_API_URL answers 503: it is in trouble; PLATFORM_AUTH_URL answers 503",
    ],
    ["takes no more calls", { status: 429 }, "PLATFORM_API_URL answers 429: it takes no more calls"],
    [
      "is a page of somebody else",
      { status: 200, body: "<h1>Hello</h1>" },
      "PLATFORM_API_URL answers 200 without JSON",
    ],
    [
      "is a parked domain",
      { status: 404, body: "Nothing here" },
      "PLATFORM_API_URL answers 404 without JSON",
    ],
  ])("warns of a platform that answers and %s", async (_, answer, said) => {
    world.sandbox.control.fault("* /*", answer, 100);
    const { stdout } = await kit(world.environment, ["doctor"]);
    const { code, ok, of } = await doctor();
    world.sandbox.control.clearFaults();
    expect({ code, ok, platform: of("platform") }).toMatchObject({
      ...{ code: 0, ok: true },
      platform: {
        ok: true,
        message: expect.stringContaining(said),
        fix: expect.stringContaining("kit status"),
      },
    });
    expect(stdout.split("\n").at(-2)).toMatch(/^No check failed; to look at: .*\bplatform\b/);
  });

  it("waits for a slow platform once, not in every check", async () => {
    const { services } = world.service;
    world.sandbox.control.fault("* /*", { delayMs: 2_000 }, 100);
    const begunAt = performance.now();
    const { checks } = await examine({
      offer: services.offer,
      readSettings: () => services.config,
      open: () => Promise.resolve(services),
    });
    const tookMs = performance.now() - begunAt;
    world.sandbox.control.clearFaults();
    expect(checks.map(({ id }) => id)).toEqual(IDS);
    expect(tookMs).toBeGreaterThan(1_900);
    expect(tookMs).toBeLessThan(4_000);
  });

  it("checks the OAuth client when sign-in is configured", async () => {
    expect((await doctor()).of("sign-in")).toMatchObject({
      ...{ ok: true, fix: null, message: expect.stringContaining("Nobody can sign in") },
    });
    const redirectUri = "https://teapots.example/oauth/callback";
    const client = world.sandbox.control.registerClient({ name: "Teapots", redirectUri });
    const settings = { OAUTH_CLIENT_ID: client.id, OAUTH_CLIENT_SECRET: client.secret! };
    expect((await doctor(settings)).of("sign-in")).toMatchObject({
      ...{ ok: true, fix: expect.stringContaining("PUBLIC_URL") },
    });
    const whole = await doctor({ ...settings, PUBLIC_URL: "https://teapots.example" });
    expect(whole.of("sign-in")).toMatchObject({
      ...{ ok: true, fix: null, message: expect.stringContaining(redirectUri) },
    });
    const { code, of } = await doctor({ ...settings, OAUTH_CLIENT_SECRET: "one-of-yesterday" });
    expect(code).toBe(1);
    expect(of("sign-in")).toMatchObject({ ok: false, fix: expect.stringContaining("OAUTH_CLIENT_SECRET") });
    expect(of("sign-in").message).not.toContain("yesterday");
    const unasked = await doctor({ ...settings, PLATFORM_AUTH_URL: NOWHERE });
    expect(unasked.of("sign-in")).toMatchObject({
      ...{ ok: true, message: expect.stringContaining("could not be asked") },
    });
  });

  it("says who may open the operator's pages, and names missing settings", async () => {
    const told = async (settings: Record<string, string>) => {
      const { code, of } = await doctor(settings);
      const { ok, message, fix } = of("settings").ok ? of("operators") : of("settings");
      return { code, ok, message, fix: fix !== null };
    };
    const PASSWORD = { OPERATOR_PASSWORD: "a-password-of-the-operator" };
    const { id, secret } = world.sandbox.control.registerClient({
      name: "Teapots",
      redirectUri: "https://teapots.example/oauth/callback",
    });
    const ACCOUNTS = { OPERATOR_ACCOUNTS: "one@example.com, two@example.com" };
    const CLIENT = { OAUTH_CLIENT_ID: id, OAUTH_CLIENT_SECRET: secret! };
    const said = (part: string) => expect.stringContaining(part);
    expect(await told({})).toEqual({ code: 0, ok: true, message: said("There are no"), fix: false });
    expect(await told(PASSWORD)).toEqual({
      code: 0,
      ok: true,
      message: said("OPERATOR_PASSWORD"),
      fix: false,
    });
    expect(await told({ ...ACCOUNTS, ...CLIENT, ...PASSWORD })).toEqual({
      code: 0,
      ok: true,
      message: said("2 accounts"),
      fix: false,
    });
    expect(await told({ ...ACCOUNTS, ...CLIENT })).toEqual({
      code: 0,
      ok: true,
      message: said("no metrics"),
      fix: true,
    });
    const metrics = { METRICS_PASSWORD: "a-password-of-the-metrics" };
    expect(await told(metrics)).toMatchObject({ ok: true, message: said("the metrics to METRICS_PASSWORD") });
    const half = await told({ ...ACCOUNTS, ...PASSWORD });
    expect(half).toEqual({
      code: 78,
      ok: false,
      message: said("OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET are required beside OPERATOR_ACCOUNTS"),
      fix: true,
    });
    expect(half.message).not.toContain("example.com");
  });

  it("tries the client secret at the platform", async () => {
    expect((await doctor()).of("secret").message).toContain("the platform accepts it");
    const unanswered = (await doctor({ PLATFORM_AUTH_URL: NOWHERE })).of("secret");
    expect(unanswered).toMatchObject({ ok: true, message: expect.stringContaining("could not be asked") });
    world.sandbox.control.fault("POST /oauth/token", { status: 404 });
    const elsewhere = (await doctor()).of("secret");
    expect(elsewhere).toMatchObject({ ok: true, fix: expect.stringContaining("PLATFORM_AUTH_URL") });
    expect(elsewhere.message).toMatch(
      /could not be asked whether it accepts it: POST \/oauth\/token answered 404/,
    );
    const { clientSecret } = world.sandbox.settings;
    world.sandbox.control.partner({ clientSecret: "reset-meanwhile-in-the-portal" });
    const { code, of } = await doctor();
    world.sandbox.control.partner({ clientSecret });
    expect({ code, secret: of("secret") }).toMatchObject({ code: 1, secret: { ok: false } });
    expect(of("secret").fix).toContain("kit secret set");
    // The check changes nothing.
    expect(await world.rows(`SELECT 1 FROM client_secrets WHERE rejected_at IS NOT NULL`)).toEqual([]);
  });

  it("mentions an open incident, which is no fault, as is an unreachable status feed", async () => {
    expect((await doctor()).of("status")).toMatchObject({ ok: true, fix: null });
    const { id } = world.sandbox.control.openIncident({ title: "Slow builds" });
    const troubled = (await doctor()).of("status");
    expect(troubled).toMatchObject({ ok: true, fix: expect.stringContaining("kit status") });
    expect(troubled.message).toContain("Slow builds");
    world.sandbox.control.resolveIncident(id);
    const { code, of } = await doctor({ PLATFORM_STATUS_URL: NOWHERE });
    expect({ code, status: of("status") }).toMatchObject({ code: 0, status: { ok: true } });
    expect(of("status").fix).toContain("PLATFORM_STATUS_URL");
  });

  it("works when the database is away", async () => {
    const away = { DATABASE_URL: "postgresql://nobody:hidden-password@127.0.0.1:9/none" };
    const { code, ids, of, counts } = await doctor(away);
    expect({ code, ids, counts }).toEqual({ code: 1, ids: IDS, counts: [1, 10] });
    expect([of("database").ok, of("keys").ok, of("platform").ok]).toEqual([false, false, true]);
    expect(of("keys")).toMatchObject({ isChecked: false, message: "Not checked, because of: database." });
    const { stdout } = await kit({ ...world.environment, ...away }, ["doctor"]);
    expect(stdout).toMatch(/\n– Not checked, because of: database: clocks, migrations, plans, keys, secret,/);
    expect(stdout).toMatch(/\n1 of 20 checks failed\.\n$/);
    const list = await kit({ ...world.environment, ...away }, ["resources", "list"]);
    expect(list).toMatchObject({ code: 1, stdout: "" });
    expect(list.stderr).toMatch(/^✗ The database did not answer[^]+\n {2}Is it running\? kit doctor/);
    expect(list.stderr).not.toContain("hidden-password");
  });

  it("says what it could not check because of the settings", async () => {
    const { code, ids, counts } = await doctor({ PLATFORM_API_URL: "nowhere" });
    expect({ code, ids, counts }).toEqual({ code: 78, ids: IDS, counts: [1, IDS.length - 1] });
  });

  it("takes no check for made whose statement the database did not answer", async () => {
    const { services } = world.service;
    const readWhole = () => Promise.reject(new Error("Connection terminated unexpectedly"));
    const report = await examine({
      offer: services.offer,
      readSettings: () => services.config,
      open: () => Promise.resolve({ ...services, db: { ...services.db, readWhole } }),
    });
    expect(report).toMatchObject({ ok: false, failed: 0, notChecked: 2 });
  });

  it("distinguishes a database that rejects the login from one that does not answer", async () => {
    const words = 'password authentication failed for user "shop"';
    const database = await aRefusingDatabase("28P01", words);
    try {
      const { code, of } = await doctor({ DATABASE_URL: database.url });
      expect({ code, database: of("database") }).toMatchObject({
        code: 1,
        database: {
          message: `DATABASE_URL: the database says: ${words}`,
          fix: expect.stringContaining("no process starts with it"),
        },
      });
    } finally {
      await database.close();
    }
  });

  it("names DATABASE_CA when TLS to the database fails", async () => {
    const database = await aRefusingDatabase("", "");
    try {
      const { of } = await doctor({ DATABASE_URL: `${database.url}?sslmode=verify-full` });
      expect(of("database")).toMatchObject({
        message: expect.stringMatching(
          /The server does not support SSL connections\. See sslmode .*DATABASE_CA/,
        ),
      });
    } finally {
      await database.close();
    }
  });

  it("counts resources whose access ends with their current token", async () => {
    const [row] = await world.rows<{ sealed: Buffer; due: Date }>(
      `SELECT sealed_refresh_token AS sealed, due_at AS due FROM credentials WHERE uuid = $1`,
      [uuid],
    );
    await world.rows(`UPDATE credentials SET sealed_refresh_token = NULL, due_at = NULL WHERE uuid = $1`, [
      uuid,
    ]);
    const { code, of } = await doctor();
    await world.rows(`UPDATE credentials SET sealed_refresh_token = $2, due_at = $3 WHERE uuid = $1`, [
      uuid,
      row!.sealed,
      row!.due,
    ]);
    expect(code).toBe(1);
    expect(of("attention")).toEqual({
      ...{ id: "attention", ok: false, message: "1 resource without a refresh token." },
      fix: `See them: kit resources show ${uuid}`,
    });
  });

  it("reports grants close to their deadline and tokens that are not refreshed, with the platform's last answer", async () => {
    expect((await doctor()).of("tokens")).toMatchObject({ ok: true, fix: null });
    const changed = (assignments: string) =>
      world.rows(
        `UPDATE credentials SET attempts = 6, last_error = 'server_error: it answered 500', ${assignments} WHERE uuid = $1`,
        [uuid],
      );
    await changed(`due_at = now() + interval '1 minute', expires_at = now() + interval '3 hours 1 minute'`);
    const patient = await doctor();
    expect([patient.code, patient.of("tokens")]).toMatchObject([
      ...[0, { ok: true, fix: expect.stringContaining("catch up by themselves") }],
    ]);
    expect(patient.of("tokens").message).toBe(
      "1 token waits for a refresh: the first ends in 3 h. The last try: server_error: it answered 500",
    );
    await changed(`expires_at = now() + interval '30 minutes'`);
    expect((await doctor()).of("tokens").ok).toBe(false);
    await world.rows(
      `UPDATE credentials SET attempts = 1, rejected_at = now() - interval '2 minutes', expires_at = now() + interval '7 hours'
       WHERE uuid = $1`,
      [uuid],
    );
    expect((await doctor()).of("tokens").message).toContain("1 token waits for a refresh");
    await changed(
      `rejected_at = NULL, state = 'grant_pending', grant_deadline = now() + interval '200 seconds'`,
    );
    const { code, of } = await doctor();
    await world.rows(
      `UPDATE credentials SET state = 'active', grant_deadline = NULL, attempts = 0, last_error = NULL, due_at = NULL
       WHERE uuid = $1`,
      [uuid],
    );
    expect(code).toBe(1);
    expect(of("tokens")).toMatchObject({ ok: false, fix: expect.stringContaining("kit status") });
    expect(of("tokens").message).toMatch(
      /^1 grant is not exchanged: the first is lost in 3 min\. The last try: server_error/,
    );
  });

  it("reports every job that has never completed a run as late when no process runs", async () => {
    await world.rows(`DELETE FROM heartbeats`);
    await world.restart({ environment: { WEB_JOBS: "off" } });
    const before = (await doctor()).of("sweeps");
    expect(before).toMatchObject({ ok: true, message: expect.stringContaining("or were first expected, ") });
    await world.rows(`UPDATE heartbeats SET at = at - interval '3 minutes'`);
    await world.rows(`INSERT INTO heartbeats VALUES ('of-another-build', now() - interval '3 minutes')`);
    const { ok, message } = (await doctor()).of("sweeps");
    await world.restart();
    expect(ok).toBe(false);
    expect(message).toContain("last ended or first expected: ");
    for (const name of world.service.services.jobs.names) expect(message).toContain(`${name} (`);
    expect(message).not.toContain("of-another-build");
  });

  it("lists the resources that need attention", async () => {
    await world.rows(`UPDATE credentials SET state = 'needs_reauth', due_at = NULL WHERE uuid = $1`, [uuid]);
    const { code, of } = await doctor();
    expect(code).toBe(1);
    expect(of("attention")).toMatchObject({ ok: false, message: "1 resource needs_reauth." });
  });
});
