import { LOOKS_AGAIN } from "../../../src/operator/pages/frame.tsx";
import { aWorldOfAnOperator } from "./operator.ts";
import type { DoctorReport } from "../../../src/operator/doctor/doctor.ts";
import { kit, kitJson } from "../../support/kit.ts";
import { eventually, opened } from "../../support/world.ts";

let uuids: string[];
const operator = opened(() => aWorldOfAnOperator());
beforeAll(async () => {
  uuids = [await operator.life.settled(), await operator.life.settled("premium")];
});

const uuidsIn = (html: string) =>
  [...html.matchAll(/href="\/operator\/resources\/([0-9a-f-]{36})"/g)].map(([, uuid]) => uuid!);
const listed = async (query: string) => uuidsIn((await operator.get(`/resources?${query}`)).html);
const appOf = (uuid: string) => operator.control.addon(uuid).app.name;

describe("the list of resources", () => {
  it("has all of them, the newest first", async () => {
    expect(await listed("")).toEqual([...uuids].reverse());
  });

  it("finds by a text, and by state", async () => {
    const [uuid, other] = uuids as [string, string];
    expect(await listed(`text=${uuid.slice(0, 13).toUpperCase()}`)).toEqual([uuid]);
    expect(await listed(`text=${appOf(uuid).slice(0, 12)}`)).toContain(uuid);
    expect(await listed(`text=${other}&state=active`)).toEqual([other]);
    expect(await listed(`text=${other}&state=needs_reauth`)).toEqual([]);
    expect(await listed("text=nothing-like-it")).toEqual([]);
    expect(await listed("text=%25")).toEqual([]);
    expect((await operator.get("/resources?text=%00%F0%9F%8D%B5%27")).text).toContain(" None. ");
  });

  it("has pages without gaps and duplicates", async () => {
    await operator.world.rows(
      `WITH made AS (INSERT INTO resources (uuid, plan, applied_plan, state, name)
         SELECT gen_random_uuid(), 'basic', 'basic', 'provisioned', 'many-' || n FROM generate_series(1, 230) n RETURNING uuid)
       INSERT INTO credentials (uuid, state) SELECT uuid, 'no_grant' FROM made`,
    );
    const seen: string[] = [];
    for (let address: string | undefined = "/resources?text=many-"; address;) {
      const { html } = await operator.get(address);
      seen.push(...uuidsIn(html));
      const [, next] = /href="\/operator([^"]+)">Older ones</.exec(html) ?? [];
      address = next?.replaceAll("&amp;", "&");
      expect(seen.length).toBeLessThan(300);
    }
    expect([seen.length, new Set(seen).size]).toEqual([230, 230]);
    await operator.world.rows(`DELETE FROM credentials WHERE state = 'no_grant'`);
    await operator.world.rows(`DELETE FROM resources WHERE name LIKE 'many-%'`);
  });
});

describe("the page of a resource", () => {
  it("shows its next refresh, apps and events, and the page of a push config vars without values", async () => {
    const [uuid] = uuids as [string];
    const { text } = await operator.get(`/resources/${uuid}`);
    for (const part of ["Next refresh", appOf(uuid), "tokens issued"]) expect(text).toContain(part);
    expect((await operator.get(`/resources/${uuid}/push`)).text).toMatch(/TEAPOT_TOKEN same TEAPOT_URL same/);
  });

  it("updated by the script contains the current state, and asks the platform nothing", async () => {
    const [uuid] = uuids as [string];
    const asked = async (headers: Record<string, string>) => {
      const since = operator.life.position();
      const { html } = await operator.get(`/resources/${uuid}`, headers);
      expect([...html.matchAll(/ id="(\w+)" data-live="/g)].map(([, id]) => id)).toEqual([
        "record",
        "steps",
        "timeline",
      ]);
      return operator.life.entries(since).filter(({ direction }) => direction === "in").length;
    };
    expect(await asked({})).toBeGreaterThan(1);
    expect(await asked({ [LOOKS_AGAIN]: "1" })).toBe(0);
    expect((await operator.get("/assets/live.js")).html).toContain(`"${LOOKS_AGAIN}": "1"`);
  });

  it("opens for a removed resource without asking the platform", async () => {
    const { addon } = await operator.control.install({ plan: "basic" });
    await operator.world.quiet([addon.id]);
    await operator.control.deprovision(addon.id);
    const { status, text } = await operator.get(`/resources/${addon.id}`);
    expect([status, text]).toEqual([200, expect.stringContaining("deprovisioned")]);
    expect(text).not.toContain("Refresh its token");
    const push = await operator.get(`/resources/${addon.id}/push`);
    expect([push.status, push.text]).toEqual([409, expect.stringContaining("That cannot be done")]);
  });
});

it("a step that keeps failing is shown on its resource's page, by kit, as a fault, and to be seen to", async () => {
  const { life, world, control } = operator;
  for (let tries = 0; tries < 20; tries++)
    life.vendor.next("finish", () => Promise.reject(new Error("The kiln is cold.")));
  const uuid = (await control.install({ plan: "dedicated" })).addon.id;
  await eventually(async () => {
    expect(await world.rows(`SELECT 1 FROM steps WHERE last_error IS NOT NULL`)).toHaveLength(1);
  });
  // No process runs it meanwhile.
  await world.restart({ environment: { WEB_JOBS: "off" } });
  const tried = (times: number) =>
    world.rows(`UPDATE steps SET attempts = $1, due_at = now() + interval '5 minutes', leased_until = NULL`, [
      times,
    ]);
  const steps = async () => {
    const { data } = await kitJson<DoctorReport>(world.environment, ["doctor"]);
    return data.checks.find(({ id }) => id === "steps");
  };
  await tried(11);
  expect(await steps()).toMatchObject({ ok: true, fix: null });
  await tried(12);
  const fix = expect.stringContaining(`kit resources show ${uuid}`);
  expect(await steps()).toMatchObject({ ok: false, message: expect.stringContaining("finish"), fix });

  const words = ["resources", "show", uuid];
  const { stdout } = await kit(world.environment, words);
  expect(stdout).toMatch(/Waiting steps\n {2}finish +12 tries, the next \d{4}-.* \(in [45] min\)\n/);
  expect(stdout).toContain("The kiln is cold.");
  const nextTryAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const step = { kind: "finish", tries: 12, lastError: "The kiln is cold.", said: null, nextTryAt };
  expect((await kitJson(world.environment, words)).data["steps"]).toContainEqual({
    ...{ ...step, isUnderWay: false },
  });
  expect((await operator.get(`/resources/${uuid}`)).text).toMatch(
    /finish 12 .* \(in [45] min\) The kiln is cold\./,
  );
  expect((await operator.get()).text).toContain("1 step failed again and again");
});

it("no page of these tests contained a secret", async () => {
  const ledger = operator.control.ledger({ reveal: true });
  const secrets = JSON.stringify(ledger).match(/SVCK-[\w-]+/g) ?? [];
  const config = await operator.world.service.services.platformFor(uuids[0]!).config.get();
  const all = [...new Set(secrets), ...config.map(({ value }) => value!), "a-password-of-the-operator"];
  expect(all.length).toBeGreaterThan(4);
  expect(operator.shown.length).toBeGreaterThan(10);
  for (const secret of all) expect(operator.shown.filter((html) => html.includes(secret))).toEqual([]);
});
