import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { Refusal } from "../../src/errors.ts";
import { aGrant, aProvisionRequest } from "../support/a-provision-request.ts";
import { aGate } from "../support/a-vendor.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { openConfig, sealConfig } from "../../src/resources/config-vars.ts";
import { storeTokens } from "../../src/credentials/store.ts";
import { failProvision } from "../../src/resources/end-store.ts";
import { refusalAnswer } from "../../src/resources/answers.ts";
import { answerFirst, findResource } from "../../src/resources/store.ts";
import type { Done } from "../../src/resources/contract.ts";
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

const planOf = async (uuid: string) => (await life.resource(uuid))?.plan;
const urlThere = (uuid: string) => life.varsAt(uuid)["TEAPOT_URL"];
const urlOf = (uuid: string, plan: string) => `https://${plan}.teapots.example/${uuid}`;
const slow = () => Promise.resolve({ later: "Wait." });

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

  it("of a plan change say nothing of the provision before it, of which the platform does not know yet", async () => {
    life.control.fault("POST /addons/*/actions/provision", { status: 503 }, 1_000);
    const { addon } = await life.control.install({ plan: "dedicated" });
    expect((await life.control.changePlan(addon.id, "premium")).response.status).toBe(202);
    await eventually(async () => expect(await life.steps(addon.id)).toHaveLength(1));
    expect(await life.resource(addon.id)).toMatchObject({ state: "provisioning" });
    life.control.clearFaults();
    await life.hurry(addon.id);
    await life.nothingLeft(addon.id);
    expect(await life.resource(addon.id)).toMatchObject({ state: "provisioned" });
    expect(life.control.addon(addon.id).state).toBe("provisioned");
    expect(urlThere(addon.id)).toBe(urlOf(addon.id, "premium"));
  });
});

describe("a provision", () => {
  /** The rows of a provision that a dead or frozen process stored and did not answer. */
  const unanswered = async (age: string) => {
    const uuid = randomUUID();
    const [step] = await life.world.rows<{ id: number }>(
      `WITH made AS (INSERT INTO resources (uuid, plan, applied_plan) VALUES ($1, 'basic', 'basic')),
         without AS (INSERT INTO credentials (uuid, state) VALUES ($1, 'no_grant'))
       INSERT INTO steps (uuid, kind, due_at, attempts, lease, leased_until, created_at)
       VALUES ($1, 'provision', now(), 1, 1, now(), now() - $2::interval) RETURNING id::int`,
      [uuid, age],
    );
    return { uuid, id: step!.id };
  };
  const calls = (uuid: string) =>
    life.vendor.calls.filter((call) => call.uuid === uuid).map(({ what }) => what);

  it("that one process refuses while another creates it is cleaned up", async () => {
    const gate = aGate();
    life.vendor.next("provision", async (resource) => {
      await gate.opened;
      return teapots.provision(resource);
    });
    const { uuid } = await unanswered("1 minute");
    await eventually(() => expect(calls(uuid)).toEqual(["provision"]));
    const refused = {
      answer: refusalAnswer(new Refusal("Sold out.")),
      state: "failed",
      next: "clean_up",
    } as const;
    const ctx = life.world.service.services;
    expect(await answerFirst(ctx, { uuid, lease: 1, config: null, ...refused })).toBe(true);
    gate.open();
    await eventually(async () => {
      await life.hurry(uuid);
      expect(calls(uuid).at(-1)).toBe("deprovision");
    });
    await life.nothingLeft(uuid);
  });
});

describe("a plan change", () => {
  it("that must be repeated for a process that died is followed by the change that reverts it", async () => {
    const uuid = await life.settled();
    // Longer than the requests that revert it wait for it.
    await life.world.rows(
      `INSERT INTO steps (uuid, kind, detail, due_at, attempts, lease, leased_until)
       VALUES ($1, 'change_plan', '{"plan": "premium"}', now(), 1, 1, now() + interval '30 seconds')`,
      [uuid],
    );
    expect((await life.platform.changePlan(uuid, { plan: "basic" })).status).toBe(202);
    // A repeated delivery changes nothing more.
    expect((await life.platform.changePlan(uuid, { plan: "basic" })).status).toBe(200);
    expect(await life.steps(uuid)).toEqual(["change_plan", "change_plan"]);
    await life.hurry(uuid);
    await life.nothingLeft(uuid);
    expect(life.vendor.callsOf(uuid, "changePlan").map(({ plan }) => plan)).toEqual(["premium", "basic"]);
    expect(await planOf(uuid)).toBe("basic");
    expect(urlThere(uuid)).toBe(urlOf(uuid, "basic"));
  });

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

  it("that takes longer is finished, and blocks no other, when its grant is lost", async () => {
    const request = aProvisionRequest();
    expect((await life.platform.provision(request)).status).toBe(200);
    life.vendor.next("changePlan", slow);
    life.vendor.next("finish", (resource) => teapots.changePlan(resource, resource.plan) as Promise<Done>);
    expect((await life.platform.changePlan(request.uuid, { plan: "premium" })).status).toBe(202);
    expect((await life.platform.changePlan(request.uuid, { plan: "dedicated" })).status).toBe(202);
    expect(await life.steps(request.uuid)).toEqual(["finish", "change_plan"]);
    await life.world.rows(`UPDATE credentials SET grant_deadline = now(), due_at = now() WHERE uuid = $1`, [
      request.uuid,
    ]);
    await eventually(async () => expect(await planOf(request.uuid)).toBe("dedicated"));
    expect(await life.credential(request.uuid)).toMatchObject({ state: "grant_lost" });
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
