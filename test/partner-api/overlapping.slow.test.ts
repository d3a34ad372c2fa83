import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { aGrant, aProvisionRequest } from "../support/a-provision-request.ts";
import { aGate } from "../support/a-vendor.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { openConfig, sealConfig } from "../../src/resources/config-vars.ts";
import { storeTokens } from "../../src/credentials/store.ts";
import { failProvision } from "../../src/resources/end-store.ts";
import { findResource } from "../../src/resources/store.ts";
import { teapots } from "../support/teapots/index.ts";
import { Secret } from "../../src/secret.ts";
import { credentialSealContext } from "../../src/vault/contexts.ts";
import { eventually, opened } from "../support/world.ts";

// Requests that arrive while other work on the resource is under way, or was left by a process that died.

const life = opened(() => aLifecycle());
afterEach(() => {
  life.vendor.asUsual();
  life.control.clearFaults();
});
const urlThere = (uuid: string) => life.varsAt(uuid)["TEAPOT_URL"];
const urlOf = (uuid: string, plan: string) => `https://${plan}.teapots.example/${uuid}`;

describe("slow updates of config vars at the platform", () => {
  it("do not overwrite those of a later plan change", async () => {
    const uuid = await life.settled();
    life.control.fault("GET /addons/*/config", { delayMs: 1_500 }, 1);
    expect((await life.control.changePlan(uuid, "premium")).response.status).toBe(200);
    await eventually(() => expect(life.control.faults()).toEqual([]));
    expect((await life.control.changePlan(uuid, "basic")).response.status).toBe(200);
    await life.nothingLeft(uuid);
    expect(urlThere(uuid)).toBe(urlOf(uuid, "basic"));
  });
});

describe("a plan change", () => {
  it("that is stored while an operator sets a var keeps that var", async () => {
    const { db, vault } = life.world.service.services;
    const uuid = await life.settled();
    const gate = aGate();
    life.vendor.next("changePlan", async (...given) => {
      await gate.opened;
      return teapots.changePlan(...given);
    });
    const change = life.control.changePlan(uuid, "premium");
    await eventually(() => expect(life.vendor.callsOf(uuid, "changePlan")).toHaveLength(1));
    const vars = openConfig(vault, (await findResource(db, uuid))!);
    const byHand = { name: "TEAPOT_TOKEN", value: "by hand" };
    const sealed = sealConfig(vault, uuid, [...vars.filter(({ name }) => name !== byHand.name), byHand]);
    const other = new pg.Client({ connectionString: life.world.environment["DATABASE_URL"] });
    await other.connect();
    await other.query(`BEGIN`);
    await other.query(`UPDATE resources SET sealed_config = $2 WHERE uuid = $1`, [uuid, sealed]);
    gate.open();
    await sleep(500);
    await other.query(`COMMIT`);
    await other.end();
    expect((await change).response.status).toBe(200);
    await life.nothingLeft(uuid);
    expect(life.vendor.callsOf(uuid, "changePlan")).toHaveLength(1);
    expect(life.varsAt(uuid)).toMatchObject({ TEAPOT_URL: urlOf(uuid, "premium"), TEAPOT_TOKEN: "by hand" });
  });
});

it("tokens that arrive while a provision fails are not stored", async () => {
  const { db, vault } = life.world.service.services;
  life.control.fault("POST /oauth/token", { status: 503, body: { error: "temporarily_unavailable" } }, 1_000);
  const request = aProvisionRequest({ plan: "dedicated" });
  const { uuid } = request;
  expect((await life.platform.provision(request)).status).toBe(202);
  const other = new pg.Client({ connectionString: life.world.environment["DATABASE_URL"] });
  await other.connect();
  await other.query(`BEGIN`);
  await other.query(
    `UPDATE credentials SET state = 'grant_lost', due_at = NULL, sealed_grant_code = NULL WHERE uuid = $1`,
    [uuid],
  );
  // The failure waits for that, and the tokens wait behind it: their statement started before both.
  const failed = failProvision({ db, vault }, uuid, { onlyIfStranded: true });
  await sleep(300);
  const stored = storeTokens(db, {
    ...{ uuid, lease: 0, first: true, replaces: null, lifeSeconds: 28_800, share: 0.5, secretVersion: 1 },
    access: vault.seal(credentialSealContext("sealed_access_token", uuid), new Secret("SVCK-late")),
    ...{ refresh: null, flags: "" },
  });
  await sleep(300);
  await other.query(`COMMIT`);
  await other.end();
  await failed;
  expect(await stored).toBe(false);
  expect(await life.resource(uuid)).toMatchObject({ state: "failed" });
  expect(await life.credential(uuid)).toMatchObject({ state: "grant_lost", generation: 0 });
});

it("a new code for a provision that failed is not exchanged", async () => {
  const request = aProvisionRequest({ plan: "dedicated" });
  expect((await life.platform.provision(request)).status).toBe(202);
  await life.world.rows(`UPDATE credentials SET grant_deadline = now(), due_at = now() WHERE uuid = $1`, [
    request.uuid,
  ]);
  await life.resourceBecomes(request.uuid, { state: "failed" });
  const again = await life.platform.provision({ ...request, oauth_grant: aGrant() });
  expect(again.status).toBe(422);
  expect(await life.credential(request.uuid)).toMatchObject({ state: "grant_lost" });
});
