import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { CREDENTIAL_STATES } from "../../../src/credentials/states.ts";
import { openDatabase } from "../../../src/database/database.ts";
import { positional } from "../../../src/database/statement.ts";
import { Refusal } from "../../../src/errors.ts";
import { groupOf, type StreamEvent } from "../../../src/operator/events.ts";
import { kit, kitJson, runningKit, startKit } from "../../support/kit.ts";
import { aLifecycle } from "../../support/lifecycle.ts";
import { eventually, opened } from "../../support/world.ts";

// `kit events`, and the story of one resource.

const life = opened(() => aLifecycle());
const PARTS = { pace: { followMs: 20 } };

const linesIn = (stdout: string) =>
  stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as StreamEvent);
async function events(...words: string[]): Promise<StreamEvent[]> {
  const { code, stdout, stderr } = await kit(life.world.environment, ["events", "--json", ...words]);
  expect([code, stderr]).toEqual([0, ""]);
  return linesIn(stdout);
}
const typesOf = (found: readonly StreamEvent[]) => found.map(({ type }) => type);
const shown = async (uuid: string) =>
  (await kitJson<{ events: StreamEvent[] }>(life.world.environment, ["resources", "show", uuid])).data;

describe("kit events", () => {
  let [first, second] = ["", ""];
  beforeAll(async () => {
    first = await life.settled("dedicated");
    second = await life.settled("basic");
    await life.control.changePlan(second, "premium");
    await life.world.quiet([second]);
    await life.control.deprovision(first);
  });

  it("has what was asked, exchanged, answered, changed and ended of all resources, the newest first", async () => {
    const found = await events();
    const types = (uuid: string) => typesOf(found.filter((event) => event.uuid === uuid));
    // What is found out about its apps comes beside the rest.
    const inOrder = (uuid: string) => types(uuid).filter((type) => type !== "apps_found");
    const asked = ["tokens_issued", "provision_requested"];
    expect(inOrder(first)).toEqual(["deprovisioned", "provisioned", "config_ready", ...asked]);
    expect(inOrder(second)).toEqual(["plan_changed", "plan_change_asked", ...asked]);
    for (const uuid of [first, second]) expect(types(uuid)).toContain("apps_found");
    // Of transactions that overlap, the later one may have begun a moment earlier.
    const times = found.map(({ at }) => Date.parse(at));
    for (const [place, time] of times.slice(1).entries()) expect(time).toBeLessThan(times[place]! + 10_000);
    const { name, app } = life.control.addon(second);
    const about = { uuid: second, name, plan: "premium", app };
    expect(found).toContainEqual({
      ...about,
      at: expect.any(String),
      type: "plan_change_asked",
      detail: { plan: "premium", was: "basic" },
    });
    // What a deprovision forgets is not in it.
    expect(found.find(({ uuid }) => uuid === first)).toMatchObject({ name: null, app: null });
  });

  it("is narrowed by a type or a group of types, by plan and by app, and has a limit", async () => {
    expect(new Set(typesOf(await events("--type", "tokens_issued")))).toEqual(new Set(["tokens_issued"]));
    expect(typesOf(await events("--type", "changed", "--plan", "premium"))).toEqual([
      "plan_changed",
      "apps_found",
    ]);
    expect(typesOf(await events("--type", "ended"))).toEqual(["deprovisioned"]);
    const { app } = life.control.addon(second);
    const ofApp = await events("--app", app.name.toUpperCase());
    expect(new Set(ofApp.map(({ uuid }) => uuid))).toEqual(new Set([second]));
    expect(ofApp).toHaveLength(5);
    expect(await events("--app", app.id, "--limit", "2")).toEqual(ofApp.slice(0, 2));
    expect(await events("--plan", "no-plan")).toEqual([]);
  });

  it("says for people whose it is, on which app and plan, and what is stored with it", async () => {
    const { stdout } = await kit(life.world.environment, [
      "events",
      "--app",
      life.control.addon(second).app.name,
    ]);
    const { name, app } = life.control.addon(second);
    expect(stdout).toMatch(
      new RegExp(
        `^\\d{4}-\\d\\d-\\d\\d [\\d:]{8}  plan changed +${name}, on ${app.name}, premium  plan premium$`,
        "m",
      ),
    );
  });

  it("has what failed and left no event of its own: a refused provision, and a lost sale", async () => {
    life.vendor.next("provision", () => Promise.reject(new Refusal("Sold out.")));
    const { addon } = await life.control.install({ plan: "basic" });
    const lost = randomUUID();
    await life.world.rows(
      `INSERT INTO lost_sales (uuid, plan, request_id, at, reason) VALUES ($1, 'basic', 'one', now(), 'No answer.')`,
      [lost],
    );
    const failed = await events("--type", "failed");
    expect(failed.map(({ uuid, type }) => [uuid, type])).toEqual([
      [lost, "provision_lost"],
      [addon.id, "provision_refused"],
    ]);
    expect(typesOf((await shown(addon.id)).events)).toEqual(["provision_requested", "provision_refused"]);
  });

  it("counts refreshes by the hour, and has the last one in a resource's story", async () => {
    const hour = `date_trunc('hour', now(), 'UTC') - interval '2 hours'`;
    await life.world.rows(
      `INSERT INTO metric_hours (hour, sample, labels, value) VALUES (${hour}, 'addon_refreshes_total', '{"result":"issued"}', 7),
       (${hour}, 'addon_refreshes_total', '{"result":"refused"}', 1)`,
    );
    const detail = { count: 7, failed: 1 };
    expect(await events("--type", "refreshed")).toMatchObject([
      { uuid: null, type: "tokens_refreshed", detail },
    ]);
    expect(typesOf((await shown(second)).events)).not.toContain("tokens_refreshed");
    await kitJson(life.world.environment, ["tokens", "refresh", second]);
    expect((await shown(second)).events.at(-1)).toMatchObject({
      type: "tokens_refreshed",
      detail: { pairs: 2 },
    });
  });

  it("refuses an unknown type, with those there are, and a limit that is none", async () => {
    const refused = await kitJson(life.world.environment, ["events", "--type", "luck"]);
    expect(refused).toMatchObject({ code: 2, data: { message: expect.stringContaining("grant_lost") } });
    expect((await kitJson(life.world.environment, ["events", "--limit", "0"])).code).toBe(2);
  });
});

describe("the story of a resource", () => {
  it("begins with the request, with its plan also after plan changes, its answer and its id", async () => {
    const uuid = await life.settled("basic");
    for (const plan of ["premium", "basic", "premium"]) await life.control.changePlan(uuid, plan);
    const [request] = (await shown(uuid)).events;
    const [{ request_id: requestId }] = (await life.world.rows(
      `SELECT request_id FROM credentials WHERE uuid = $1`,
      [uuid],
    )) as [{ request_id: string }];
    const detail = { plan: "basic", region: "us", answer: 200, requestId };
    expect(request).toMatchObject({ type: "provision_requested", detail });
    const { stdout } = await kit(life.world.environment, ["resources", "show", uuid]);
    expect(stdout).toMatch(/Events \(UTC\)\n.*provision_requested +plan basic/);
  });

  it("says to which plan a waiting plan change leads", async () => {
    const uuid = await life.settled("basic");
    for (let tries = 0; tries < 20; tries += 1)
      life.vendor.next("changePlan", () => Promise.reject(new Error("The kiln is cold.")));
    await life.control.changePlan(uuid, "premium");
    await eventually(async () => {
      const { data } = await kitJson(life.world.environment, ["resources", "show", uuid]);
      expect(data["steps"]).toMatchObject([{ kind: "change_plan", plan: "premium" }]);
    });
    const { stdout } = await kit(life.world.environment, ["resources", "show", uuid]);
    expect(stdout).toMatch(/Waiting steps\n +change_plan to premium /);
    life.vendor.asUsual();
    await life.world.quiet([uuid]);
  });
});

describe("kit events --follow", () => {
  const follow = (...words: string[]) =>
    runningKit(life.world.environment, ["events", "--follow", "--json", ...words], PARTS);

  it("prints the last ones, the oldest first, and then each new one once, until Ctrl-C, which is no failure", async () => {
    const [newest, older] = await events("--limit", "2");
    const { said, signal, ended } = follow("--limit", "2");
    await eventually(() => expect(linesIn(said.stdout)).toEqual([older, newest]));
    const uuid = await life.settled("basic");
    await eventually(() => expect(said.stdout).toContain("tokens_issued"));
    await life.control.deprovision(uuid);
    await eventually(() => expect(said.stdout).toContain("deprovisioned"));
    signal("SIGINT");
    const { code, stdout, stderr } = await ended;
    expect([code, stderr]).toEqual([0, ""]);
    const ofIt = linesIn(stdout).filter((event) => event.uuid === uuid);
    expect(typesOf(ofIt)).toEqual(["provision_requested", "tokens_issued", "apps_found", "deprovisioned"]);
  });

  it("misses none whose transaction commits after that of a later one", async () => {
    const uuid = await life.settled("basic");
    const note = (type: string) =>
      positional(`test_note_${type}`, `INSERT INTO events (uuid, type) VALUES ('${uuid}', '${type}')`);
    const { said, signal, ended } = follow("--type", "changed", "--limit", "1");
    await eventually(() => said.stdout !== "");
    const db = openDatabase({ url: life.world.environment["DATABASE_URL"]!, poolSize: 1 });
    await db.transaction(async (tx) => {
      await tx.query(note("rotated"));
      await life.world.db.query(note("retired"));
      await eventually(() => expect(said.stdout).toContain("retired"));
    });
    await eventually(() => expect(said.stdout).toContain("rotated"));
    await db.close();
    signal("SIGINT");
    expect(typesOf(linesIn((await ended).stdout)).slice(-2)).toEqual(["retired", "rotated"]);
  });

  it("ends without a failure when its reader has gone", async () => {
    const process = startKit(life.world.environment, ["events", "--follow", "--json"]);
    const closed = once(process, "close");
    await once(process.stdout!, "data");
    process.stdout!.destroy();
    await eventually(async () => {
      await life.world.rows(`INSERT INTO events (uuid, type) VALUES ($1, 'retired')`, [randomUUID()]);
      return process.exitCode !== null;
    });
    expect(await closed).toEqual([0, null]);
  });
});

it("each type of event that the code writes has its group", () => {
  const root = new URL("../../../src/", import.meta.url);
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !file.startsWith("database/client"),
  );
  const statements = files.flatMap((file) =>
    [
      ...readFileSync(new URL(file, root), "utf8").matchAll(
        /INSERT INTO events .*?(?=\n {3}\)|`|RETURNING)/gs,
      ),
    ].map(([text]) => text),
  );
  const written = statements.flatMap((text) =>
    [...text.matchAll(/(?:SELECT :?uuid(?:::uuid)?, |VALUES \(:uuid, |THEN |ELSE )'([a-z_]+)'/g)].map(
      ([, type]) => type!,
    ),
  );
  // Who asked for a rotation; and what is taken back.
  const others = ["operator", "write_tried"];
  expect(written.length).toBeGreaterThan(20);
  const ofResources = CREDENTIAL_STATES.filter(
    (state) => !state.endsWith("sign_in") && state !== "signed_in",
  );
  const all = [...written, ...ofResources].filter((type) => !others.includes(type));
  expect(all.filter((type) => groupOf(type) === undefined)).toEqual([]);
});
