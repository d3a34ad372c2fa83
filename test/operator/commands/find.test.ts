import { randomUUID } from "node:crypto";
import type { Candidates, ResourcePage } from "../../../src/operator/resource-list.ts";
import { kit, kitJson } from "../../support/kit.ts";
import { aLifecycle } from "../../support/lifecycle.ts";
import { opened } from "../../support/world.ts";

// Finding a customer: `kit resources list` with what narrows it, and `kit resources show` by a part of a name.

const life = opened(() => aLifecycle({ environment: { WEB_JOBS: "off" } }));

interface Stored {
  uuid: string;
  name?: string;
  plan?: string;
  app?: string;
  state?: string;
}
const SHOP: Stored = { uuid: "aaaa0000-1111-4222-8333-44445555beef", name: "quiet-31", app: "Blue-Shop" };
const SHOP_TOO: Stored = { uuid: randomUUID(), name: "quiet-310", app: "red-shop", plan: "premium" };
const GONE: Stored = { uuid: "deadbeef-1111-4222-8333-444455550000", state: "deprovisioned" };
const FAILED: Stored = { uuid: randomUUID(), name: "amber-1", plan: "premium", state: "failed" };
const ALL = [SHOP, SHOP_TOO, GONE, FAILED];

beforeAll(async () => {
  for (const { uuid, name = null, plan = "basic", app = null, state = "provisioned" } of ALL)
    await life.world.rows(
      `WITH born AS (
         INSERT INTO resources (uuid, name, plan, state, region, app_id, app_name)
         VALUES ($1, $2, $3, $4, 'us', CASE WHEN $5::text IS NOT NULL THEN gen_random_uuid() END, $5))
       INSERT INTO credentials (uuid, state) VALUES ($1, CASE WHEN $4 IN ('failed', 'deprovisioned') THEN 'erased' ELSE 'no_grant' END)`,
      [uuid, name, plan, state, app],
    );
});

const list = (...words: string[]) =>
  kitJson<ResourcePage>(life.world.environment, ["resources", "list", ...words]);
const found = async (...words: string[]) => {
  const { data } = await list(...words);
  expect(data).toMatchObject({ total: data.resources.length, isTotalExact: true, next: null });
  return data.resources.map(({ uuid }) => uuid).sort();
};
const uuidsOf = (...which: Stored[]) => which.map(({ uuid }) => uuid).sort();

it("a search finds any part, in any case, of uuid, name, app's name and e-mail, also of what is gone", async () => {
  await life.world.rows(
    `INSERT INTO customer_sessions (id_hash, uuid, email, expires_at) VALUES ('\\x01', $1, 'Anna@Example.com', now() + interval '1 hour')`,
    [FAILED.uuid],
  );
  for (const text of ["0000-1111", "5555BEEF", "iet-31", "QUIET-31", "blue", "lue-sh"])
    expect(await found("--search", text)).toContain(SHOP.uuid);
  expect(await found("--search", "Shop")).toEqual(uuidsOf(SHOP, SHOP_TOO));
  expect(await found("--search", "BEEF-1111")).toEqual([GONE.uuid]);
  expect(await found("--search", "anna@example")).toEqual([FAILED.uuid]);
  expect(await found("--search", "us")).toEqual(uuidsOf(...ALL));
  for (const text of ["%", "_", "no-such-shop"]) expect(await found("--search", text)).toEqual([]);
});

it("lists are narrowed by plan, by app, by what fails and by its error, all at once", async () => {
  await life.world.rows(
    `INSERT INTO steps (uuid, kind, attempts, due_at, last_error) SELECT uuid, kind, 3, now() + interval '1 hour', error
     FROM unnest($1::uuid[], '{finish,clean_up}'::text[], '{The kiln is cold.,No answer.}'::text[]) AS failing(uuid, kind, error)`,
    [[SHOP.uuid, GONE.uuid]],
  );
  await life.world.rows(`UPDATE credentials SET last_error = 'It was refused.' WHERE uuid = $1`, [
    SHOP_TOO.uuid,
  ]);
  expect(await found("--plan", "premium")).toEqual(uuidsOf(SHOP_TOO, FAILED));
  expect(await found("--plan", "premium", "--state", "failed")).toEqual([FAILED.uuid]);
  expect(await found("--app", "blue-SHOP")).toEqual([SHOP.uuid]);
  expect(await found("--failing")).toEqual(uuidsOf(SHOP, GONE));
  expect(await found("--failing", "clean_up")).toEqual([GONE.uuid]);
  expect(await found("--failing", "refresh")).toEqual([]);
  expect(await found("--error", "KILN")).toEqual([SHOP.uuid]);
  expect(await found("--error", "was refused")).toEqual([SHOP_TOO.uuid]);
  expect(await found("--failing", "finish", "--error", "No answer")).toEqual([]);
  expect(await found("--failing", "--error", "no answer", "--state", "deprovisioned")).toEqual([GONE.uuid]);
});

it("lists have an order, and say how many there are in all", async () => {
  const order = async (sort: string) =>
    (await list("--sort", sort)).data.resources.map(({ uuid }) =>
      ALL.findIndex((each) => each.uuid === uuid),
    );
  expect(await order("since")).toEqual([3, 2, 1, 0]);
  expect(await order("name")).toEqual([3, 0, 1, 2]);
  expect(await order("plan")).toEqual([2, 0, 3, 1]);
  expect(await order("state")).toEqual([3, 1, 0, 2]);
  const { stdout } = await kit(life.world.environment, ["resources", "list"]);
  expect(stdout).toMatch(/UUID +PLAN +STATE +CREDENTIAL +NAME +APP +SINCE\n[^]*\n4 resources\.\n$/);
  for (const words of [
    ["--sort", "luck"],
    ["--failing", "the-moon"],
  ])
    expect(await list(...words)).toMatchObject({
      code: 2,
      data: { message: expect.stringContaining("Known: ") },
    });
  expect(await list("--state", "asleep")).toMatchObject({
    code: 2,
    data: { message: expect.stringContaining("Allowed choices are provisioning,") },
  });
});

it("show takes what only one resource has, and its whole name before a part of another; else it lists them", async () => {
  const show = (text: string) =>
    kitJson<{ uuid: string } & Candidates>(life.world.environment, ["resources", "show", text]);
  for (const text of ["5555beef", "QUIET-31", "blue"])
    expect(await show(text)).toMatchObject({ code: 0, data: { uuid: SHOP.uuid } });
  expect(await show("deadbe")).toMatchObject({ code: 0, data: { uuid: GONE.uuid } });
  const several = await show("quiet");
  expect(several).toMatchObject({ code: 2, data: { id: "not_unique", total: 2 } });
  expect(several.data.candidates.map(({ uuid }) => uuid).sort()).toEqual(uuidsOf(SHOP, SHOP_TOO));
  const { code, stdout, stderr } = await kit(life.world.environment, ["resources", "show", "quiet"]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/2 resources contain "quiet".*\n\n.*\n[^]*quiet-310 [^]*quiet-31 /);
  expect(await show("no-such-shop")).toMatchObject({ code: 1, data: { id: "not_found" } });
});

it("what a deprovision forgets is not found by it, and by its uuid while the clean-up still runs", async () => {
  await life.world.restart({ environment: { WEB_JOBS: "on" } });
  const uuid = await life.settled();
  await life.world.forged.isNamed(uuid, { name: "swift-77", appName: "till" });
  expect(await found("--search", "swift-7")).toEqual([uuid]);
  for (let tries = 0; tries < 20; tries += 1)
    life.vendor.next("deprovision", () => Promise.reject(new Error("The shelf is full.")));
  expect((await life.control.deprovision(uuid)).response.status).toBe(204);
  expect(await found("--search", "swift-7")).toEqual([]);
  expect(await found("--search", uuid.slice(3, 20))).toEqual([uuid]);
});
