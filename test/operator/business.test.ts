import { readBusiness } from "../../src/operator/business.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { kit, kitJson } from "../support/kit.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

// The numbers of the overview and of `kit stats`, by what the platform did.

const life = opened(() => aLifecycle());

it("counts customers by plan, who came, went and changed, what was answered, and what failed today", async () => {
  const { control, platform, vendor, world } = life;
  const install = (plan: string) => control.install({ plan }).then(({ addon }) => addon.id);
  const [one, other] = [await install("basic"), await install("basic"), await install("premium")];
  await control.changePlan(one!, "premium");
  await control.deprovision(other!);
  await platform.provision({ ...aProvisionRequest(), plan: "no-such-plan" });
  await platform.provision(aProvisionRequest(), { headers: { authorization: null } });
  vendor.next("finish", () => Promise.reject(new Error("The kiln is cold.")));
  const later = await install("dedicated");
  await world.quiet([later]);
  await life.world.rows(
    `INSERT INTO events (uuid, type, at) VALUES ($1, 'provision_failed', now()), ($1, 'failed', now()),
       ($1, 'grant_lost', now() - interval '8 days')`,
    [one],
  );
  await eventually(async () => {
    await world.service.services.totals.store();
    const { customers, plans, days, week, failures, failedCalls, isEstimate } = await readBusiness(world.db);
    expect({ customers, isEstimate }).toEqual({ customers: 3, isEstimate: false });
    expect(plans).toEqual([
      { plan: "premium", customers: 2, arriving: 0 },
      { plan: "dedicated", customers: 1, arriving: 0 },
    ]);
    const provisions = { done: 3, later: 1, refused: 1, lost: 0 };
    const today = { came: 4, gone: 1, changed: 1, provisions };
    expect(days.map(({ day }) => day)).toHaveLength(7);
    expect(days.at(-1)).toEqual({ day: new Date().toISOString().slice(0, 10), ...today });
    expect(week).toEqual(today);
    const some = [{ uuid: one, name: expect.any(String), plan: "premium", app: expect.any(String) }];
    expect(failures).toMatchObject([{ type: "provision_failed", count: 1, some }]);
    expect(failedCalls).toEqual([{ function: "finish", count: 1 }]);
  });
  const { code, data } = await kitJson(world.environment, ["stats"]);
  const numbers = { new: 4, gone: 1, changed: 1, done: 3, later: 1, refused: 1, lost: 0 };
  expect(code).toBe(0);
  expect(data).toMatchObject({ customers: 3, byPlan: [{ plan: "premium" }, { plan: "dedicated" }] });
  expect(data["today"]).toEqual({ ...numbers, failed: 1 });
  expect((data["week"] as object[]).at(-1)).toEqual({ day: expect.any(String), ...numbers });
  const { stdout } = await kit(world.environment, ["stats"]);
  expect(stdout).toMatch(/^3 customers\nPLAN +CUSTOMERS +ARRIVING\npremium +2 +·\n/);
  expect(stdout).toMatch(/\ntoday +4 +1 +1 +3 +1 +1 +·\nall +4 +1 +1 +3 +1 +1 +·\n/);
  expect(stdout).toContain("Of 5 provisions, 3 answered at once, 1 later, 1 refused, 0 lost: 80 % sold.");
  expect(stdout).toMatch(new RegExp(`1 provisions? failed after .*\\n {2}${one} {2}.*, premium, on `));
  expect(stdout).toMatch(/made again: finish\(\) 1\.\n$/);
});
