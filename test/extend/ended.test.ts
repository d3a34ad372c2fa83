import type { Extensions, Kit, KitResource, ResourceFilter } from "../../src/extend/contract.ts";
import type { ExportLine } from "../../src/operator/export.ts";
import type { EndedResource } from "../../src/resources/contract.ts";
import { aVendor, type Vendor } from "../support/a-vendor.ts";
import { kit as command } from "../support/kit.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

// What a vendor can read of a resource that has ended, until its clean-up is done, and what is kept of it for that.

const vendor: Vendor & Extensions = {
  ...aVendor(),
  suspend: async () => undefined,
  resume: async () => undefined,
};
let kit: Kit;
const life = opened(() => aLifecycle({ parts: { vendor: (given: Kit) => ((kit = given), vendor) } }));

let uuid: string;
let given: EndedResource[];
/** How many calls of `deprovision` are answered "later". */
let laterCalls: number;
const OPTIONS = { shards: "3" };
const UNPAID = "The bill of October is not paid.";
let before: KitResource;

beforeEach(async () => {
  const { addon } = await life.control.install({ plan: "basic", region: "eu", options: OPTIONS });
  uuid = addon.id;
  await life.world.quiet([uuid]);
  await kit.suspend(uuid, UNPAID);
  await life.nothingLeft(uuid);
  before = (await kit.resources.find(uuid))!;
  given = [];
  laterCalls = 1;
  const deprovision = (resource: EndedResource) => {
    given.push(resource);
    if (given.length <= laterCalls) {
      vendor.next("deprovision", deprovision);
      return Promise.resolve({ later: "The last day is not metered yet.", againInSeconds: 3_600 });
    }
    return Promise.resolve();
  };
  vendor.next("deprovision", deprovision);
  await life.control.deprovision(uuid);
  await eventually(() => given.length === 1);
});
afterEach(async () => {
  laterCalls = 0;
  await cleanedUp();
});

const called = (calls: number) =>
  eventually(async () => {
    await life.world.forged.stepsFellDue(uuid);
    expect(given).toHaveLength(calls);
  });
const cleanedUp = () =>
  eventually(async () => {
    await life.world.forged.stepsFellDue(uuid);
    expect(await life.steps(uuid)).toEqual([]);
  });
async function listed(filter: ResourceFilter): Promise<KitResource[]> {
  const all: KitResource[] = [];
  for await (const each of kit.resources.list(filter)) all.push(each);
  return all;
}
const ENDED = { state: "deprovisioning" } as const;
const ofKit = (...words: string[]) => command(life.world.environment, words, "", { vendor });
const exported = async () => JSON.parse((await ofKit("resources", "export", uuid)).stdout) as ExportLine;

it("a deprovision is given what the last bill needs, at each call", async () => {
  const { name, createdAt, suspended } = before;
  await called(2);
  const is = { uuid, name, plan: "basic", region: "eu", options: OPTIONS, createdAt, suspended };
  expect(given).toMatchObject([is, is]);
  const [first, second] = given as [EndedResource, EndedResource];
  expect(second.endedAt).toEqual(first.endedAt);
  expect(first.endedAt!.getTime() - createdAt.getTime()).toBeGreaterThan(0);
  expect(Math.abs(first.endedAt!.getTime() - Date.now())).toBeLessThan(60_000);
});

it("jobs find it as deprovisioning alone, until the clean-up is done", async () => {
  const ended = { ...before, state: "deprovisioning", endedAt: given[0]!.endedAt, app: null };
  expect(await kit.resources.find(uuid)).toBeNull();
  expect(await kit.resources.find(uuid, { state: "provisioned" })).toBeNull();
  expect((await listed({})).map((each) => each.uuid)).not.toContain(uuid);
  expect(await kit.resources.find(uuid, ENDED)).toEqual(ended);
  expect(await listed(ENDED)).toEqual([ended]);
  const future = new Date(Date.now() + 60_000);
  const wanted: ResourceFilter[] = [
    { plan: "basic" },
    { region: "eu" },
    { suspended: true },
    { createdBefore: future },
  ];
  const others: ResourceFilter[] = [
    { plan: "premium" },
    { region: "us" },
    { suspended: false },
    { createdAfter: future },
  ];
  for (const filter of wanted) expect(await listed({ ...ENDED, ...filter })).toHaveLength(1);
  for (const filter of others) expect(await listed({ ...ENDED, ...filter })).toEqual([]);
  laterCalls = 0;
  await cleanedUp();
  expect(await kit.resources.find(uuid, ENDED)).toBeNull();
  expect(await listed(ENDED)).toEqual([]);
});

it("the resource itself keeps nothing of it; an export has what its clean-up keeps", async () => {
  const row = `SELECT name, options::text, suspended_at, suspend_reason FROM resources WHERE uuid = $1`;
  expect(await life.world.rows(row, [uuid])).toEqual([
    { name: null, options: "{}", suspended_at: null, suspend_reason: null },
  ]);
  const kept = { name: before.name, options: OPTIONS, suspendReason: UNPAID };
  expect(await exported()).toMatchObject({ name: null, options: {}, kept });
  laterCalls = 0;
  await cleanedUp();
  expect(await exported()).toMatchObject({ kept: null });
});

const FORGOTTEN = { name: null, options: {}, suspended: null };
it.each<[string, () => Promise<unknown>]>([
  ["fails for 30 days", () => life.world.forged.stepsAreFrom(uuid, 30 * 24 * 3_600 + 60)],
  ["is not done when an operator erases it", () => ofKit("resources", "erase", uuid, "--yes")],
])("name, options and reason of a clean-up that %s are forgotten; its times stay", async (_what, happens) => {
  // However long that takes, the clean-up is not done meanwhile.
  laterCalls = Infinity;
  await happens();
  await eventually(async () => {
    life.world.service.services.wake.findLateSteps();
    expect(await kit.resources.find(uuid, ENDED)).toMatchObject(FORGOTTEN);
  });
  const { createdAt, endedAt } = given[0]!;
  await eventually(async () => {
    await life.world.forged.stepsFellDue(uuid);
    expect(given.at(-1)).toMatchObject({ ...FORGOTTEN, plan: "basic", createdAt, endedAt });
  });
});

it("name and options of a clean-up that fails for 29 days are still there", async () => {
  await life.world.forged.stepsAreFrom(uuid, 29 * 24 * 3_600);
  await life.world.forged.jobHasNotRun("find-late-steps");
  await eventually(async () => {
    life.world.service.services.wake.findLateSteps();
    const beats = `SELECT 1 FROM heartbeats WHERE name = 'find-late-steps'`;
    expect(await life.world.rows(beats)).toHaveLength(1);
  });
  expect(await kit.resources.find(uuid, ENDED)).toMatchObject({ name: before.name, options: OPTIONS });
});

it("a clean-up of the release before, which keeps nothing, is still done", async () => {
  await life.world.rows(`UPDATE steps SET detail = detail - 'kept' WHERE uuid = $1`, [uuid]);
  expect(await kit.resources.find(uuid, ENDED)).toMatchObject({
    ...FORGOTTEN,
    plan: "basic",
    createdAt: before.createdAt,
    endedAt: expect.any(Date),
  });
  await called(2);
  expect(given[1]).toMatchObject({ ...FORGOTTEN, plan: "basic", createdAt: null, endedAt: null });
});
