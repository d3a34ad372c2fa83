import { aWorld, opened } from "../../support/world.ts";
import { kit, kitJson } from "../../support/kit.ts";

const UNKNOWN = "01234567-89ab-cdef-0123-456789abcdef";
const NEVER = "11234567-89ab-cdef-0123-456789abcdef";

interface Listed {
  resources: { uuid: string; state: string; credential: { state: string } }[];
  next: string | null;
}

let uuid: string;
const world = opened(() => aWorld());
beforeAll(async () => {
  uuid = await world.settled();
});

const list = (...words: string[]) => kitJson<Listed>(world.environment, ["resources", "list", ...words]);

describe("kit resources", () => {
  it("show prints a resource with its credential, its app and its events", async () => {
    const { code, data } = await kitJson(world.environment, ["resources", "show", uuid]);
    expect(code).toBe(0);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(data).toEqual({
      ...{ uuid, name: expect.any(String), plan: "basic", region: "us", state: "provisioned" },
      credential: {
        ...{ state: "active", reason: null, generation: 1, lastError: null, secretVersion: 1, flags: [] },
        ...{ expiresAt: time, refreshDueAt: time, keyId: world.service.services.vault.keyId },
      },
      app: { id: expect.any(String), name: expect.any(String) },
      createdAt: time,
      updatedAt: time,
      readAt: time,
      steps: [],
      events: expect.arrayContaining([{ at: time, type: "tokens_issued", detail: {} }]),
      actions: [],
    });
  });

  it("show says that it is unknown what came of a customer's action whose process died", async () => {
    await world.rows(
      `INSERT INTO events (uuid, at, type, detail) SELECT $1, now() - age, 'customer_action', '{"state": "running"}'
       FROM unnest(ARRAY[interval '2 minutes', '1 second']) AS age`,
      [uuid],
    );
    const { data } = await kitJson<{ events: object[] }>(world.environment, ["resources", "show", uuid]);
    const states = data.events
      .slice(-2)
      .map((event) => (event as { detail: { state: string } }).detail.state);
    expect(states).toEqual(["unknown", "running"]);
    await world.rows(`DELETE FROM events WHERE type = 'customer_action'`);
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
  });

  it("list filters by the state of the resource or of the credential", async () => {
    const active = await list("--state", "active");
    expect(active.data).toMatchObject({ resources: [{ uuid }], next: null });
    const failed = await list("--state", "failed");
    expect(failed.data.resources).toHaveLength(100);
    expect(failed.data.resources.every(({ state }) => state === "failed")).toBe(true);
    const human = await kit(world.environment, ["resources", "list", "--state", "grant_lost"]);
    expect(human.stdout).toMatch(
      /^UUID +PLAN +STATE +CREDENTIAL\n[^]*\n100 resources\. For more, .* --after [0-9a-f-]{36}\n$/,
    );
  });

  it("list finds by uuid, name, app, plan and region", async () => {
    const { data } = await kitJson(world.environment, ["resources", "show", uuid]);
    const { name, app, region } = data as { name: string; region: string; app: { id: string; name: string } };
    const found = async (text: string, ...more: string[]) =>
      (await list("--search", text, ...more)).data.resources.map((each) => each.uuid);
    for (const text of [uuid.slice(0, 13).toUpperCase(), name, app.name.slice(0, 12), app.id, region])
      expect(await found(text)).toEqual([uuid]);
    expect(await found("basic", "--state", "active")).toEqual([uuid]);
    expect(await found("no-plan-of-ours")).toEqual([]);
  });

  it("list and show tell people which resource it is, and why it is so", async () => {
    await world.rows(`UPDATE resources SET name = 'shop', app_name = 'till' WHERE uuid = $1`, [uuid]);
    const say = async (...words: string[]) => (await kit(world.environment, ["resources", ...words])).stdout;
    expect(await say("list", "--search", "shop")).toMatch(/ active +shop\n/);
    const lost = await list("--state", "grant_lost");
    expect(await say("show", lost.data.resources[0]!.uuid)).toMatch(
      /state +grant_lost: expired\n +to do +Ask the platform to deliver/,
    );
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

  it("list and show say of a tombstone without a plan that it was never provisioned", async () => {
    await world.rows(
      `WITH made AS (INSERT INTO resources (uuid, plan, applied_plan, state) VALUES ($1, '', '', 'deprovisioned') RETURNING uuid)
       INSERT INTO credentials (uuid, state) SELECT uuid, 'erased' FROM made`,
      [NEVER],
    );
    for (const words of [["list"], ["show", NEVER]])
      expect((await kit(world.environment, ["resources", ...words])).stdout).toContain("never provisioned");
    const { data } = await kitJson(world.environment, ["resources", "show", NEVER]);
    expect(data["plan"]).toBe("");
  });

  it("erase removes what the platform no longer needs, and keeps a tombstone", async () => {
    await world.rows(
      `INSERT INTO events (uuid, type, detail) VALUES ($1, 'noted', '{"who": "a customer"}')`,
      [uuid],
    );
    const erased = await kitJson(world.environment, ["resources", "erase", uuid.toUpperCase(), "--yes"]);
    expect(erased).toEqual({ code: 0, data: { erased: uuid } });
    // Of a tombstone it removes the remaining data.
    expect((await kitJson(world.environment, ["resources", "erase", uuid, "--yes"])).code).toBe(0);
    const { data } = await kitJson(world.environment, ["resources", "show", uuid]);
    expect(data).toMatchObject({
      name: null,
      state: "deprovisioned",
      app: null,
      credential: { state: "erased", keyId: null },
    });
    expect(JSON.stringify(data)).not.toContain("a customer");
    const again = await world.sandbox.control.redeliver(uuid, { newCode: true });
    expect(again.response.status).toBe(410);
  });
});
