import { setTimeout as sleep } from "node:timers/promises";
import { Refusal } from "../../src/errors.ts";
import { addonManifest } from "../../src/offer.ts";
import { PACE } from "../../src/pace.ts";
import { operator, PASSWORD } from "../metrics/operator.ts";
import { ALL } from "../support/forged.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { offer } from "../support/teapots/plans.ts";
import { eventually, opened, QUICK } from "../support/world.ts";

/** The secrets that the test chooses; the platform's own are read from its ledger. */
const chosen = {
  addonPassword: "canary/password+of=the&add-on",
  formerPassword: "canary-password-of-yesterday",
  clientSecret: "canary secret & +%= of the client ü",
  operatorPassword: PASSWORD,
  encryptionKey: "canary-key-that-seals-everything-0123456789",
  formerKey: "canary-key-that-sealed-it-before-0123456789",
  configValue: "canary-value-of-a-config-var",
};

const uuids: string[] = [];

const life = opened(() =>
  aLifecycle({
    sandbox: {
      addonManifest: { ...addonManifest("teapots", offer), requires: ["log_input"] },
      ...{ addonPassword: chosen.addonPassword, clientSecret: chosen.clientSecret },
    },
    environment: {
      ADDON_PASSWORD_PREVIOUS: chosen.formerPassword,
      ENCRYPTION_KEY: chosen.encryptionKey,
      DECRYPTION_KEYS: chosen.formerKey,
      OPERATOR_PASSWORD: chosen.operatorPassword,
      LOG_LEVEL: "trace",
    },
    parts: { pace: { ...QUICK, vendorMs: PACE.vendorMs } },
  }),
);
beforeAll(() => liveThroughMuch());

/** Successes and failures: everything that is likely to put a secret where it does not belong. */
async function liveThroughMuch(): Promise<void> {
  const { control, vendor, platform } = life;
  const install = async (plan: string) => {
    const { addon } = await control.install({ plan });
    uuids.push(addon.id);
    return life.requestFor(addon.id);
  };
  // A normal life, with refreshes and a plan change.
  control.settings({ expiresIn: 3 });
  const plain = await install("basic");
  await eventually(async () => expect((await life.credential(plain.uuid))!.generation).toBeGreaterThan(1));
  control.settings({ expiresIn: 28_800 });
  const config = { TEAPOT_URL: "https://teapots.example", TEAPOT_TOKEN: chosen.configValue };
  vendor.next("changePlan", () => Promise.resolve({ config }));
  await control.changePlan(plain.uuid, "premium");

  // A vendor's function that takes longer than the platform waits, and then quotes its arguments.
  const late = async (error: Error) => {
    await sleep(PACE.vendorMs + 200);
    throw error;
  };
  vendor.next("provision", (it) => late(new Error(`No answer from ${it.logInputUrl!.reveal()}`)));
  vendor.next("provision", (it) => late(new Refusal(`Not accepted: ${it.logDrainToken!.reveal()}`)));
  vendor.next("changePlan", () => late(new Refusal(`Still in use: ${chosen.configValue}`)));
  await Promise.all([install("basic"), install("basic"), control.changePlan(plain.uuid, "dedicated")]);
  await eventually(() => {
    for (const said of ["No answer from", "Not accepted", "Still in use"])
      expect(life.world.logged()).toContain(said);
  });
  await eventually(async () => expect(await life.world.rows(`SELECT kind FROM steps`)).toEqual([]));

  // Config vars set by PATCH, at an API that echoes them and cuts connections.
  const refusal = { id: chosen.configValue, message: `Not allowed: ${chosen.configValue}` };
  control.fault("PATCH /addons/*/config", { status: 422, body: refusal });
  control.fault("PATCH /addons/*/config", { status: 500, body: JSON.stringify(config) });
  control.fault("PATCH /addons/*/config", { reset: "after" });
  vendor.next("finish", () => Promise.resolve({ config }));
  const dedicated = await install("dedicated");
  await life.becomes(dedicated.uuid, { state: "active" });
  // Failed work is repeated at once.
  await eventually(async () => {
    await life.world.forged.stepsFellDue();
    expect(await life.steps(dedicated.uuid)).toEqual([]);
  });

  // A token endpoint that echoes what it was sent, in every place, and then loses its answer.
  // Nobody else is to call there meanwhile.
  await life.world.forged.tokensAreDueIn(ALL, 3_600);
  await life.world.forged.tokensExpireIn(ALL, 7_200);
  const quoted = await install("basic");
  const { code } = quoted.oauth_grant;
  const text = `The code ${code} with the secret ${chosen.clientSecret} is not known`;
  control.fault("POST /oauth/token", {
    status: 400,
    body: { error: "invalid_grant", error_description: text },
  });
  control.fault("POST /oauth/token", {
    status: 500,
    body: `<html>${text}</html>`,
    headers: { "content-type": "text/html" },
  });
  control.fault("POST /oauth/token", { truncate: true });
  control.settings({ replayTokens: true });
  await life.becomes(quoted.uuid, { state: "active" });

  // Wrong requests: strangers, invalid bodies, secrets in the path.
  const { oauth_grant: grant, ...rest } = life.requestFor(plain.uuid);
  const strange = JSON.stringify({ ...rest, uuid: "none", oauth_grant: grant });
  await platform.provision(strange);
  await platform.provision(strange.slice(0, -3));
  await platform.provision(strange, { headers: { authorization: `Bearer ${chosen.addonPassword}` } });
  await platform.provision(strange, { headers: { "content-type": "text/plain" } });
  await platform.deprovision(`${plain.uuid}?code=${code}`, { headers: { authorization: null } });
  await control.redeliver(plain.uuid, { newCode: true });
  await control.redeliver(plain.uuid, { plan: "dedicated" });

  // A client secret that is reset, and rejected from then on.
  control.resetClientSecret();
  control.revoke(plain.uuid, "access");
  await life.world.forged.tokensFellDue(plain.uuid);
  await eventually(() => life.world.logged().includes("client_secret_rejected"));
}

const KINDS = "code access_token refresh_token log_input_url log_drain_token client_secret".split(" ");

/** Every value that must not appear, by its kind. */
function secrets(): [string, string][] {
  const found: [string, string][] = [];
  const collect = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      if (KINDS.includes(name) && typeof member === "string") found.push([name, member]);
      else collect(member);
    }
  };
  for (const { request, response } of life.entries()) {
    collect(request.body);
    collect(response?.body);
  }
  const byValue = new Map(found.map(([name, value]) => [value, name]));
  return [...Object.entries(chosen), ...[...byValue].map(([value, name]): [string, string] => [name, value])];
}

/** The secrets that a text contains: unchanged, in JSON, in URLs, in base64. */
function seenIn(text: string, except: readonly string[] = []): string[] {
  const formsOf = (value: string) => [
    ...[value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)],
    Buffer.from(value).toString("base64").replace(/=*$/, ""),
  ];
  return secrets()
    .filter(([name, value]) => !except.includes(name) && formsOf(value).some((form) => text.includes(form)))
    .map(([name, value]) => `${name} ${value}`);
}

/** Every row of every table, with bytes both in hexadecimal and as text. */
async function dump(): Promise<string> {
  const tables = await life.world.rows<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`,
  );
  expect(tables.length).toBeGreaterThanOrEqual(7);
  const rows = tables.map(({ name }) => life.world.rows(`SELECT to_jsonb(t) AS row FROM "${name}" t`));
  const text = JSON.stringify(await Promise.all(rows));
  const bytes = [...text.matchAll(/\\\\x([0-9a-f]+)/g)].map(([, hex]) => Buffer.from(hex!, "hex"));
  return [text, ...bytes.flatMap((each) => [each.toString("latin1"), each.toString("utf8")])].join("\n");
}

describe("after provisions, calls, sign-ons and failures of all kinds", () => {
  it("the platform has given and received secrets of every kind", () => {
    expect(secrets().map(([name]) => name)).toEqual(expect.arrayContaining(KINDS));
    expect(life.control.faults()).toEqual([]);
    expect(seenIn(JSON.stringify(life.entries()))).toEqual(
      expect.arrayContaining([`configValue ${chosen.configValue}`, `clientSecret ${chosen.clientSecret}`]),
    );
  });

  it("no secret is in the log", () => {
    const logged = life.world.logged();
    expect(logged.split("\n").length).toBeGreaterThan(30);
    expect(seenIn(logged)).toEqual([]);
    expect(logged).not.toContain("SVCK-");
  });

  it("no secret is in the database, in any column", async () => {
    const rows = await dump();
    // It holds the rows, and what is sealed in them.
    for (const uuid of uuids) expect(rows).toContain(uuid);
    expect(seenIn(rows)).toEqual([]);
  });

  it("the answers contain the config vars that were asked for, and no other secret", () => {
    const answers = life
      .entries()
      .flatMap(({ direction, response }) => (direction === "out" ? [response] : []));
    expect(answers.length).toBeGreaterThan(5);
    expect(seenIn(JSON.stringify(answers), ["configValue"])).toEqual([]);
  });

  it("no secret and no resource is in the metrics", async () => {
    const { ask, basic, metrics } = operator(life.world);
    const text = await metrics();
    expect(text).toContain(`addon_alarms_total{alarm="client_secret_rejected"} 1`);
    expect(text).toContain("addon_client_secret_rejected 1\n");
    expect(text).toContain(`endpoint="PATCH /addons/:id/config"`);
    expect(seenIn(text)).toEqual([]);
    for (const each of [...uuids, "SVCK-", "canary", "teapots"]) expect(text).not.toContain(each);
    expect(seenIn(await (await ask(basic("operator", chosen.addonPassword))).text())).toEqual([]);
  });

  it("no secret was in an address, or in a header other than Authorization", () => {
    const sent = life.entries().map(({ path, direction, request: { headers } }) => {
      const { authorization: _authorization, ...others } = headers;
      return { path, others: direction === "in" ? others : {} };
    });
    expect(seenIn(JSON.stringify(sent))).toEqual([]);
  });

  it("a deprovision leaves no encrypted value behind", async () => {
    for (const uuid of uuids) expect((await life.control.deprovision(uuid)).response.status).toBe(204);
    const columns = await life.world.rows<{ table: string; column: string }>(
      `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
       WHERE table_schema = 'public' AND data_type = 'bytea' AND table_name <> 'client_secrets'`,
    );
    expect(columns.length).toBeGreaterThanOrEqual(7);
    for (const { table, column } of columns) {
      const left = await life.world.rows(`SELECT 1 FROM ${table} WHERE ${column} IS NOT NULL`);
      expect({ table, column, left }).toEqual({ table, column, left: [] });
    }
    expect(seenIn(await dump())).toEqual([]);
    expect(seenIn(life.world.logged())).toEqual([]);
  });
});
