import { randomUUID } from "node:crypto";
import { aGrant, aProvisionRequest } from "../../support/a-provision-request.ts";
import { aVendor } from "../../support/a-vendor.ts";
import { interleavings } from "../../support/interleavings.ts";
import { partnerCalls } from "../../support/partner-calls.ts";
import { aWorld, eventually, opened } from "../../support/world.ts";
import { kit, kitJson, runningKit } from "../../support/kit.ts";

interface Report {
  imported: number;
  skipped: { line: number; uuid: string | null; reason: string }[];
}

const vendor = aVendor();
const world = opened(() => aWorld({ parts: { vendor } }));
afterEach(() => vendor.asUsual());

const installation = (change: Record<string, unknown> = {}) => ({
  uuid: randomUUID() as string,
  plan: "basic",
  region: "us",
  name: "teapots-old-1",
  ...change,
});

const lines = (...items: unknown[]) =>
  items.map((item) => (typeof item === "string" ? item : JSON.stringify(item))).join("\n");

const importing = (...items: unknown[]) =>
  kitJson<Report>(world.environment, ["resources", "import"], lines(...items));

async function stored(uuid: string) {
  const [row] = await world.rows<Record<string, unknown>>(
    `SELECT r.plan, r.applied_plan, r.region, r.name, r.state, c.state AS credential
     FROM resources r JOIN credentials c USING (uuid) WHERE uuid = $1`,
    [uuid],
  );
  return row;
}

describe("kit resources import", () => {
  it("stores installations as provisioned resources without a grant, and raises no alarm", async () => {
    const [one, two] = [installation(), { uuid: randomUUID(), plan: "premium" }];
    expect(await importing(one, two)).toEqual({ code: 0, data: { imported: 2, skipped: [] } });
    expect(await stored(one.uuid)).toEqual({
      ...{ plan: "basic", applied_plan: "basic", region: "us", name: "teapots-old-1" },
      ...{ state: "provisioned", credential: "no_grant" },
    });
    expect(await stored(two.uuid)).toMatchObject({ plan: "premium", region: null, name: null });
    const shown = await kitJson(world.environment, ["resources", "show", one.uuid]);
    expect(shown.data).toMatchObject({ events: [{ type: "imported" }] });
    expect(world.logged()).not.toContain(one.uuid);
    expect(vendor.callsOf(one.uuid, "provision")).toEqual([]);
  });

  it("accepts upper-case uuids, plans with the service's name, unknown members and unusual white space", async () => {
    const { uuid } = installation();
    const line = `\ufeff  ${JSON.stringify({ uuid: uuid.toUpperCase(), plan: "teapots:basic", app: { id: 1 } })} \r`;
    expect(await importing(line, "", "   ")).toEqual({ code: 0, data: { imported: 1, skipped: [] } });
    expect(await importing()).toEqual({ code: 0, data: { imported: 0, skipped: [] } });
    expect(await stored(uuid)).toMatchObject({ plan: "basic" });
  });

  it("never changes an existing resource, whatever its state", async () => {
    const { addon } = await world.sandbox.control.install({ plan: "basic" });
    const { addon: gone } = await world.sandbox.control.install({ plan: "basic" });
    await world.sandbox.control.deprovision(gone.id);
    await world.quiet([addon.id]);
    const old = installation();
    await importing(old);
    const uuids = [addon.id, gone.id, old.uuid];
    const before = await Promise.all(uuids.map(stored));
    const { code, data } = await importing(...uuids.map((uuid) => installation({ uuid, plan: "premium" })));
    expect({ code, data }).toEqual({
      code: 0,
      data: { imported: 0, skipped: uuids.map((uuid, at) => ({ line: at + 1, uuid, reason: "exists" })) },
    });
    expect(await Promise.all(uuids.map(stored))).toEqual(before);
  });

  it("skips invalid lines with line number and reason, imports the others, and exits with 1", async () => {
    const [good, twice] = [installation(), installation()];
    const unusable: [unknown, string | null, string][] = [
      ["{not json", null, "no_uuid"],
      ["[]", null, "no_uuid"],
      [`"${good.uuid}"`, null, "no_uuid"],
      [{ plan: "basic" }, null, "no_uuid"],
      [installation({ uuid: `{${good.uuid}}` }), null, "no_uuid"],
      [{ uuid: good.uuid }, good.uuid, "unknown_plan"],
      [installation({ uuid: good.uuid, plan: "gigantic" }), good.uuid, "unknown_plan"],
      [installation({ uuid: good.uuid, plan: "__proto__" }), good.uuid, "unknown_plan"],
      [installation({ uuid: good.uuid, name: "a\0b" }), good.uuid, "bad_text"],
      [installation({ uuid: good.uuid, region: 7 }), good.uuid, "bad_text"],
      [`{"uuid":"${good.uuid}","plan":"basic","name":"\\ud800"}`, good.uuid, "bad_text"],
    ];
    const skipped = [
      ...unusable.map(([, uuid, reason], at) => ({ line: at + 1, uuid, reason })),
      { line: unusable.length + 2, uuid: twice.uuid, reason: "exists" },
    ];
    expect(await importing(...unusable.map(([line]) => line), twice, twice, good)).toEqual({
      ...{ code: 1, data: { imported: 2, skipped } },
    });
  });

  it("reads each line separately: invalid UTF-8 affects only its own line", async () => {
    const input = Buffer.concat([Buffer.from([0xff, 0xfe, 0x0a]), Buffer.from(lines(installation()))]);
    const { code, stdout } = await kit(world.environment, ["resources", "import"], input);
    expect(code).toBe(1);
    expect(stdout).toBe("✗ line 1: no_uuid \n1 resource imported, 0 existed, 1 not usable.\n");
  });

  it("counts what it wrote, also when the answer of the database was lost", async () => {
    const { moments, parts } = interleavings();
    moments.set("unheard provision", () => Promise.resolve());
    const words = ["resources", "import", "--json"];
    const input = lines(installation(), installation());
    const { code, stdout } = await kit(world.environment, words, input, parts);
    expect([code, JSON.parse(stdout)]).toEqual([0, { imported: 2, skipped: [] }]);
    expect(moments.size).toBe(0);
  });

  it("stopped while it waits for input, reports what was imported", async () => {
    const [half, ...whole] = Array.from({ length: 501 }, () => installation());
    const { stdin, signal, ended } = runningKit(world.environment, ["resources", "import"]);
    stdin.write(`${lines(...whole)}\n${JSON.stringify(half)}`);
    // As many lines as are written at once; then it waits.
    await eventually(async () => expect(await stored(whole[0]!.uuid)).toBeDefined());
    signal("SIGINT");
    expect(await ended).toEqual({
      code: 1,
      stdout: "500 resources imported, 0 existed, 0 not usable.\n",
      stderr: expect.stringContaining("Stopping: what was sent is finished first."),
    });
    expect(await stored(half!.uuid)).toBeUndefined();
  });
});

describe("an imported resource", () => {
  async function anImported(plan = "basic"): Promise<string> {
    const { addon } = world.sandbox.control.installWithoutProvision({ plan });
    expect((await importing({ uuid: addon.id, plan })).data.imported).toBe(1);
    return addon.id;
  }

  it("can change its plan: changePlan gets both plans", async () => {
    const uuid = await anImported();
    const { response } = await world.sandbox.control.changePlan(uuid, "premium");
    expect(response.status).toBe(200);
    expect(vendor.callsOf(uuid, "changePlan")).toMatchObject([{ plan: "premium" }]);
    expect(await stored(uuid)).toMatchObject({ plan: "premium", applied_plan: "premium" });
  });

  it("can be deprovisioned: deprovision is called", async () => {
    const uuid = await anImported();
    expect((await world.sandbox.control.deprovision(uuid)).response.status).toBe(204);
    await eventually(() => expect(vendor.callsOf(uuid, "deprovision")).toHaveLength(1));
    expect(await stored(uuid)).toMatchObject({ state: "deprovisioned", credential: "erased" });
  });

  it("answers a repeated provision with success, and exchanges its grant", async () => {
    const uuid = await anImported();
    const { response } = await world.sandbox.control.redeliver(uuid, { newCode: true });
    expect(response).toMatchObject({ status: 200, body: { id: uuid } });
    await eventually(async () => expect(await stored(uuid)).toMatchObject({ credential: "active" }));
    expect(vendor.callsOf(uuid, "provision")).toEqual([]);
  });
});

it("kit resources import and a provision of the same uuid leave one resource in either order, and the provision succeeds", async () => {
  const { provision } = partnerCalls(world);
  const requests = Array.from({ length: 60 }, () =>
    aProvisionRequest({ oauth_grant: aGrant(), region: "eu" }),
  );
  const importingAll = importing(
    ...requests.map(({ uuid }) => installation({ uuid, name: "from-the-import" })),
  );
  const answers: number[] = [];
  for (let at = 0; at < requests.length; at += 6) {
    const some = await Promise.all(requests.slice(at, at + 6).map((request) => provision(request)));
    answers.push(...some.map(({ status }) => status));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const { data } = await importingAll;
  expect(new Set(answers)).toEqual(new Set([200]));
  expect(data.imported + data.skipped.length).toBe(requests.length);
  const rows = await world.rows(`SELECT name, state FROM resources WHERE uuid = ANY($1)`, [
    requests.map(({ uuid }) => uuid),
  ]);
  expect(rows.filter(({ name }) => name === "from-the-import")).toHaveLength(data.imported);
  expect(rows.filter(({ state }) => state === "provisioned")).toHaveLength(requests.length);
});
