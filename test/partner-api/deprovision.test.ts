import { randomUUID } from "node:crypto";
import type { VendorResource } from "../../src/resources/contract.ts";
import { teapots } from "../support/teapots/index.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

const life = opened(() => aLifecycle());

/** Every column of a resource's rows that may hold an encrypted value, and is not null. */
async function sealedOf(uuid: string): Promise<string[]> {
  const rows = await life.world.rows<Record<string, unknown>>(
    `SELECT r.*, c.* FROM resources r JOIN credentials c USING (uuid) WHERE r.uuid = $1`,
    [uuid],
  );
  return Object.entries(rows[0]!).flatMap(([column, value]) =>
    column.startsWith("sealed_") && value !== null ? [column] : [],
  );
}

describe("DELETE /resources/:uuid", () => {
  it("answers 204 without a body, and keeps only a tombstone without encrypted values", async () => {
    const uuid = await life.settled();
    expect(await sealedOf(uuid)).not.toEqual([]);
    const answer = await life.platform.deprovision(uuid);
    expect({ status: answer.status, text: answer.text }).toEqual({ status: 204, text: "" });
    expect(await life.resource(uuid)).toEqual({ state: "deprovisioned", plan: "basic", answer_status: null });
    expect(await life.credential(uuid)).toMatchObject({ state: "erased" });
    expect(await sealedOf(uuid)).toEqual([]);
    await eventually(() => life.vendor.callsOf(uuid, "deprovision").length === 1);
  });

  it("calls deprovision with plan and region, without the name and the options, which are deleted", async () => {
    const uuid = randomUUID();
    const asked = aProvisionRequest({ uuid, name: "teapots-of-acme", options: { size: "large" } });
    const given: VendorResource[] = [];
    life.vendor.next("provision", (resource) => (given.push(resource), teapots.provision(resource)));
    await life.platform.provision(asked);
    life.vendor.next("deprovision", async (resource) => void given.push(resource));
    await life.platform.deprovision(uuid);
    await eventually(() => given.length === 2);
    const [before, after] = given;
    expect(before).toMatchObject({ name: "teapots-of-acme", options: { size: "large" } });
    const { plan, region } = before!;
    expect(after).toMatchObject({ uuid, plan, region, name: null, options: {} });
    expect(region).not.toBeNull();
  });

  it("answers 20 simultaneous calls with one 204 and 19 times 410, and cleans up once", async () => {
    const uuid = await life.settled();
    const answers = await Promise.all(Array.from({ length: 20 }, () => life.platform.deprovision(uuid)));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array<number>(19).fill(410)]);
    await life.nothingLeft(uuid);
    expect(life.vendor.callsOf(uuid, "deprovision")).toHaveLength(1);
    expect((await life.events(uuid)).filter((type) => type === "deprovisioned")).toHaveLength(1);
  });

  it("answers 404 for an unknown uuid, every time, and cleans up nothing", async () => {
    const uuid = randomUUID();
    for (const _ of [1, 2]) {
      const { status, body } = await life.platform.deprovision(uuid);
      expect({ status, id: (body as { id: string }).id }).toEqual({ status: 404, id: "not_found" });
    }
    expect((await life.platform.changePlan(uuid, { plan: "premium" })).status).toBe(404);
    expect(await life.events(uuid)).toEqual(["deprovisioned_before_provision"]);
    expect(await life.steps(uuid)).toEqual([]);
    expect(life.vendor.calls.filter((call) => call.uuid === uuid)).toEqual([]);
  });

  it("before its provision arrives: the provision is answered 410, and creates and exchanges nothing", async () => {
    const request = aProvisionRequest();
    expect((await life.platform.deprovision(request.uuid)).status).toBe(404);
    for (const plan of ["basic", "dedicated", "basic"]) {
      const { status, body } = await life.platform.provision({ ...request, plan });
      expect({ status, id: (body as { id: string }).id }).toEqual({ status: 410, id: "deprovisioned" });
    }
    expect(life.vendor.calls.filter((call) => call.uuid === request.uuid)).toEqual([]);
    expect(await life.steps(request.uuid)).toEqual([]);
    expect(await life.credential(request.uuid)).toMatchObject({ state: "erased" });
    expect(await sealedOf(request.uuid)).toEqual([]);
  });

  it("at the same moment as its provision: nothing is left over in either order", async () => {
    for (let round = 0; round < 20; round++) {
      const request = aProvisionRequest();
      const [provision, deprovision] = await Promise.all(
        round % 2
          ? [life.platform.provision(request), life.platform.deprovision(request.uuid)]
          : [life.platform.deprovision(request.uuid), life.platform.provision(request)].reverse(),
      );
      // 404: the deprovision came first. 204: it ended a provision that was answered or under way.
      const told = `${provision!.status} then ${deprovision!.status}`;
      expect(["200 then 204", "410 then 204", "410 then 404"]).toContain(told);
      expect(await life.resource(request.uuid)).toMatchObject({ state: "deprovisioned" });
      expect(await sealedOf(request.uuid)).toEqual([]);
    }
  });
});
