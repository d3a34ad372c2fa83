import { randomUUID } from "node:crypto";
import type { ResourcePage } from "../../../src/operator/resource-list.ts";
import { aProvisionRequest } from "../../support/a-provision-request.ts";
import { aVendor } from "../../support/a-vendor.ts";
import { interleavings } from "../../support/interleavings.ts";
import { kit, kitJson, runningKit } from "../../support/kit.ts";
import { partnerCalls } from "../../support/partner-calls.ts";
import { aWorld, eventually, opened } from "../../support/world.ts";

const UNKNOWN = "01234567-89ab-cdef-0123-456789abcdef";

let uuid: string;
const vendor = aVendor();
const world = opened(() => aWorld({ parts: { vendor } }));
beforeAll(async () => {
  uuid = await world.settled();
});

const list = (...words: string[]) =>
  kitJson<ResourcePage>(world.environment, ["resources", "list", ...words]);

describe("kit resources", () => {
  it("show prints a resource with its credential, its app and its events", async () => {
    const { code, data } = await kitJson(world.environment, ["resources", "show", uuid]);
    expect(code).toBe(0);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(data).toEqual({
      ...{ uuid, name: expect.any(String), plan: "basic", region: "us", state: "provisioned" },
      suspended: null,
      credential: {
        ...{ state: "active", reason: null, generation: 1, lastError: null, secretVersion: 1, flags: [] },
        ...{ expiresAt: time, refreshDueAt: time, keyId: world.service.services.vault.keyId },
      },
      app: { id: expect.any(String), name: expect.any(String) },
      attachedAs: null,
      createdAt: time,
      updatedAt: time,
      readAt: time,
      steps: [],
      events: expect.arrayContaining([{ at: time, type: "tokens_issued", detail: {} }]),
      actions: [],
    });
  });

  it.each(["show", "erase"])("%s reports an unknown uuid", async (word) => {
    const { code, data } = await kitJson(world.environment, ["resources", word, UNKNOWN]);
    expect({ code, id: data["id"] }).toEqual({ code: 1, id: "not_found" });
  });

  it("list prints page by page, the newest first, each resource once", async () => {
    // Many are created in the same microsecond: the uuid decides.
    await world.rows(
      `WITH born AS (
         INSERT INTO resources (uuid, plan, applied_plan, state, created_at)
         SELECT gen_random_uuid(), 'basic', 'basic', 'failed', now() - make_interval(secs => (n / 30) * 1e-6)
         FROM generate_series(1, 150) n RETURNING uuid
       )
       INSERT INTO credentials (uuid, state, reason) SELECT uuid, 'grant_lost', 'expired' FROM born`,
    );
    const first = await list();
    const second = await list("--after", first.data.next!);
    expect([first.data.resources.length, second.data.resources.length]).toEqual([100, 51]);
    expect(second.data.next).toBeNull();
    const all = [...first.data.resources, ...second.data.resources].map((each) => each.uuid);
    expect(new Set(all).size).toBe(151);
    const [byTime] = await world.rows<{ uuids: string[] }>(
      `SELECT array_agg(uuid ORDER BY created_at DESC, uuid DESC)::text[] AS uuids FROM resources`,
    );
    expect(all).toEqual(byTime!.uuids);
    const lines = async (...words: string[]) => {
      const { code, stdout } = await kit(world.environment, ["resources", "list", "--json-lines", ...words]);
      expect(code).toBe(0);
      return stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as object);
    };
    expect(await lines()).toEqual([...first.data.resources, ...second.data.resources]);
    expect(await lines("--after", first.data.next!)).toEqual(second.data.resources);
  });

  it("list filters by the state of the resource or of the credential", async () => {
    const active = await list("--state", "active");
    expect(active.data).toMatchObject({ resources: [{ uuid }], next: null });
    const failed = await list("--state", "failed");
    expect(failed.data.resources).toHaveLength(100);
    expect(failed.data.resources.every(({ state }) => state === "failed")).toBe(true);
    const human = await kit(world.environment, ["resources", "list", "--state", "grant_lost"]);
    expect(human.stdout).toMatch(
      /^UUID +PLAN +STATE +CREDENTIAL +SINCE\n[^]*\n100 of 150 resources\. For more, .* --after [0-9a-f-]{36}\n$/,
    );
  });

  it("list and show tell people which resource it is, why it is so, or that it was never provisioned", async () => {
    await world.forged.isNamed(uuid, { name: "shop", appName: "till" });
    const say = async (...words: string[]) => (await kit(world.environment, ["resources", ...words])).stdout;
    expect(await say("list", "--search", "shop")).toMatch(/ active +shop +till +\d{4}-\d\d-\d\d\n/);
    const [lost, never] = (await list("--state", "grant_lost")).data.resources;
    expect(await say("show", lost!.uuid)).toMatch(
      /state +grant_lost: expired\n +to do +Ask the platform to deliver/,
    );
    await world.forged.planIs("", never!.uuid);
    for (const words of [
      ["list", "--search", never!.uuid],
      ["show", never!.uuid],
    ])
      expect(await say(...words)).toContain("never provisioned");
  });

  it("list refuses an unknown state or position", async () => {
    expect(await list("--state", "asleep")).toMatchObject({ code: 2, data: { id: "used_wrongly" } });
    for (const place of ["teapot", "-".repeat(36), "MjAyNC0wMi0zMQ"])
      expect(await list("--after", place)).toMatchObject({ code: 2, data: { id: "used_wrongly" } });
  });

  it("list and show work without the encryption keys", async () => {
    const wrongKey = { ...world.environment, ENCRYPTION_KEY: "a-key-that-sealed-nothing-".repeat(2) };
    expect((await kitJson(wrongKey, ["resources", "show", uuid])).code).toBe(0);
    const { ENCRYPTION_KEY: _, ...noKey } = world.environment;
    expect((await kitJson(noKey, ["resources", "list"])).code).toBe(0);
  });

  it("erase removes what the platform no longer needs, and keeps a tombstone", async () => {
    await world.forged.anEventIsNoted(uuid, "noted", { who: "a customer" });
    const erased = await kitJson(world.environment, ["resources", "erase", uuid.toUpperCase(), "--yes"]);
    expect(erased).toEqual({ code: 0, data: { erased: uuid } });
    // Of a tombstone it removes the remaining data.
    expect((await kitJson(world.environment, ["resources", "erase", uuid, "--yes"])).code).toBe(0);
    const { data } = await kitJson(world.environment, ["resources", "show", uuid]);
    const credential = { state: "erased", keyId: null };
    expect(data).toMatchObject({ name: null, state: "deprovisioned", app: null, credential });
    expect(JSON.stringify(data)).not.toContain("a customer");
    const again = await world.sandbox.control.redeliver(uuid, { newCode: true });
    expect(again.response.status).toBe(410);
  });
});

interface Imported {
  imported: number;
  skipped: { line: number; uuid: string | null; reason: string }[];
}

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
  kitJson<Imported>(world.environment, ["resources", "import"], lines(...items));

async function stored(uuid: string) {
  const [row] = await world.rows<Record<string, unknown>>(
    `SELECT r.plan, r.region, r.name, r.state, c.state AS credential
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
      ...{ plan: "basic", region: "us", name: "teapots-old-1" },
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
    const skipped = uuids.map((uuid, at) => ({ line: at + 1, uuid, reason: "exists" }));
    expect({ code, data }).toEqual({ code: 0, data: { imported: 0, skipped } });
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
    const [half, ...whole] = Array.from({ length: 21 }, () => installation());
    const { stdin, signal, ended } = runningKit(world.environment, ["resources", "import"]);
    stdin.write(`${lines(...whole)}\n${JSON.stringify(half)}`);
    await eventually(async () => expect(await stored(whole.at(-1)!.uuid)).toBeDefined());
    signal("SIGINT");
    expect(await ended).toEqual({
      code: 1,
      stdout: "20 resources imported, 0 existed, 0 not usable.\n",
      stderr: expect.stringContaining("Stopping: in-flight calls finish first."),
    });
    expect(await stored(half!.uuid)).toBeUndefined();
  });
});

describe("an imported resource", () => {
  async function anImported(): Promise<string> {
    const { addon } = world.sandbox.control.installWithoutProvision({ plan: "basic" });
    expect((await importing({ uuid: addon.id, plan: "basic" })).data.imported).toBe(1);
    return addon.id;
  }

  it("can change its plan and be deprovisioned: the service's functions are called", async () => {
    const uuid = await anImported();
    expect((await world.sandbox.control.changePlan(uuid, "premium")).response.status).toBe(200);
    expect(vendor.callsOf(uuid, "changePlan")).toMatchObject([{ plan: "premium" }]);
    expect(await stored(uuid)).toMatchObject({ plan: "premium" });
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
  const requests = Array.from({ length: 60 }, () => aProvisionRequest({ region: "eu" }));
  const uuids = requests.map(({ uuid }) => uuid);
  const importingAll = importing(...uuids.map((uuid) => installation({ uuid, name: "from-the-import" })));
  const answers: number[] = [];
  for (let at = 0; at < requests.length; at += 6) {
    const some = await Promise.all(requests.slice(at, at + 6).map((request) => provision(request)));
    answers.push(...some.map(({ status }) => status));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const { data } = await importingAll;
  expect(new Set(answers)).toEqual(new Set([200]));
  expect(data.imported + data.skipped.length).toBe(requests.length);
  const rows = await world.rows(`SELECT name, state FROM resources WHERE uuid = ANY($1)`, [uuids]);
  expect(rows.filter(({ name }) => name === "from-the-import")).toHaveLength(data.imported);
  expect(rows.filter(({ state }) => state === "provisioned")).toHaveLength(requests.length);
});
