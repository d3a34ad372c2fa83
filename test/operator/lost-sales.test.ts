import type { Database } from "../../src/database/database.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { kit, kitJson } from "../support/kit.ts";
import { eventually, opened } from "../support/world.ts";
import { aWorldOfAnOperator } from "./pages/operator.ts";

// Provisions that had to be refused: kept until somebody has written to the customer.

const PACE = { exchangeAfterMs: 50, requestMs: 1_000, lostAgainMs: 20, freshMs: 0, pauses: 0.1 };
let isAway = false;
const away = () => Promise.reject(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }));
const wrapDatabase = (database: Database): Database => ({
  ...database,
  query: (statement, ...values) => (isAway ? away() : database.query(statement, ...values)),
  ping: () => (isAway ? away() : database.ping()),
  prisma: () => (isAway ? away() : database.prisma()),
});
const operator = opened(() => aWorldOfAnOperator({ parts: { pace: PACE, wrapDatabase } }));
const environment = () => operator.world.environment;
const lost = async () => (await kitJson<{ lost: Lost[]; open: number }>(environment(), ["lost"])).data;
interface Lost {
  id: number;
  uuid: string;
  state: string;
  done: boolean;
  doneBy: string | null;
}

/** From now on these tables take no rows, as if the disk were full. */
const fill = async (...tables: string[]) => {
  await operator.world.rows(`CREATE OR REPLACE FUNCTION disk_full() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END $$`);
  for (const table of tables)
    await operator.world.rows(
      `CREATE TRIGGER full_${table} BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION disk_full()`,
    );
};
const makeRoom = () => operator.world.rows(`DROP FUNCTION IF EXISTS disk_full CASCADE`);
afterEach(async () => {
  await makeRoom();
  await operator.world.forged.nothingIsLeftOf("lost_sales");
});

async function loseOne(members: object = {}) {
  const request = aProvisionRequest({ name: "kettle-1", ...members });
  await fill("resources");
  expect(await operator.life.platform.provision(request)).toMatchObject({ status: 503 });
  await eventually(async () => (await lost()).lost.some(({ uuid }) => uuid === request.uuid));
  await makeRoom();
  return request;
}

it("a provision that is answered 503 is listed with all that a letter to the customer needs", async () => {
  const { uuid } = await loseOne({ plan: "premium", region: "eu" });
  const { data } = await kitJson<{ lost: Lost[] }>(environment(), ["lost"]);
  const line = JSON.parse(operator.world.lines("provision_lost", uuid)[0]!) as { requestId: string };
  expect(data.lost).toMatchObject([
    {
      ...{ uuid, plan: "premium", name: "kettle-1", region: "eu", requestId: line.requestId },
      ...{ reason: "No space left on device", state: "lost", done: false },
    },
  ]);
  const { stdout } = await kit(environment(), ["lost"]);
  for (const said of [uuid, "kettle-1", "premium", "No space left on device", "kit lost --done"])
    expect(stdout).toContain(said);
});

it("is held while the database takes no writes, and stored afterwards", async () => {
  await fill("resources", "lost_sales");
  const request = aProvisionRequest();
  expect(await operator.life.platform.provision(request)).toMatchObject({ status: 503 });
  expect((await lost()).lost).toEqual([]);
  await makeRoom();
  await eventually(async () => (await lost()).lost.length === 1);
});

it("an operator sees in an outage how many sales were refused since when, and the way to the cause", async () => {
  isAway = true;
  const calm = await operator.get();
  expect([calm.status, calm.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(calm.text).toContain("This process has refused no provision yet");
  for (const _ of [1, 2])
    expect(await operator.life.platform.provision(aProvisionRequest())).toMatchObject({ status: 503 });
  const { html, text } = await operator.get("/resources");
  expect(text).toMatch(/refused 2 provisions since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: each is a lost sale/);
  expect(html).toMatch(/href="[^"]*\/operator\/check-up"/);
  expect((await operator.get("/check-up")).text).toContain("connect ECONNREFUSED");
  isAway = false;
  await eventually(async () => (await lost()).lost.length === 2);
  expect((await operator.get()).text).toContain("2 sales lost");
});

it("a service that is stopped stores what it holds", async () => {
  await operator.world.restart({
    parts: { pace: { ...PACE, lostAgainMs: 3_600_000 } },
  });
  // The last try of a process that stops has two seconds, and loading is slow.
  await operator.world.service.services.db.prisma();
  await fill("resources");
  const request = aProvisionRequest();
  expect(await operator.life.platform.provision(request)).toMatchObject({ status: 503 });
  expect((await lost()).lost).toEqual([]);
  await makeRoom();
  await operator.world.restart();
  expect((await lost()).lost).toMatchObject([{ uuid: request.uuid }]);
});

it("one that succeeds later is installed since, one that was stored and refused was made here", async () => {
  await fill("resources");
  const { addon } = await operator.control.install();
  const refused = await operator.life.platform.provision(aProvisionRequest());
  expect(refused.status).toBe(503);
  await eventually(async () => (await lost()).lost.length === 2);
  await makeRoom();
  await operator.control.redeliver(addon.id, { newCode: true });
  await operator.life.becomes(addon.id, { state: "active" });
  const other = (await lost()).lost.find(({ uuid }) => uuid !== addon.id)!;
  await operator.life.platform.provision(aProvisionRequest({ uuid: other.uuid }));
  const { lost: all, open } = await lost();
  expect(all.map(({ uuid, state }) => [uuid, state]).sort()).toEqual(
    [
      [addon.id, "installed"],
      [other.uuid, "made_here"],
    ].sort(),
  );
  expect(open).toBe(1);
});

it("the doctor and the overview name the customers until they are ticked off, by command or by form", async () => {
  const [one, other] = [await loseOne({ name: "kettle-2" }), await loseOne({ name: "kettle-3" })];
  const doctor = async () => (await kit(environment(), ["doctor"])).stdout;
  expect(await doctor()).toMatch(/2 sales lost[:,].*No space left on device.*kettle-/);
  expect((await operator.get()).text).toContain("2 sales lost");

  const idOf = async ({ uuid }: { uuid: string }) =>
    (await lost()).lost.find((each) => each.uuid === uuid)!.id;
  const first = String(await idOf(one));
  const { code, data } = await kitJson<{ ticked: number }>(environment(), ["lost", "--done", first]);
  expect([code, data.ticked]).toEqual([0, 1]);
  expect((await operator.get("/lost")).text).not.toContain("kettle-2");
  const page = await operator.done("/lost", [["id", String(await idOf(other))]]);
  expect(page.text).toContain("1 lost sale ticked off");
  expect((await lost()).lost.map(({ done, doneBy }) => [done, typeof doneBy])).toEqual([
    [true, "string"],
    [true, "string"],
  ]);
  expect(await doctor()).toContain("No lost sale is open");
  expect((await operator.audit()).map(({ action }) => action)).toEqual([`kit lost --done ${first}`, "lost"]);
});

it.each([[["lost", "--done", "x"]], [["lost", "--done", "3-1"]], [["lost", "--after", "x"]]])(
  "refuses %j",
  async (words) => expect((await kit(environment(), words)).code).toBe(2),
);

it("says so if a number names no open one", async () =>
  expect((await kitJson(environment(), ["lost", "--done", "999999"])).code).toBe(1));

it("an erased resource is not named any more", async () => {
  const { uuid } = await loseOne();
  await operator.life.platform.provision(aProvisionRequest({ uuid }));
  for (const _ of [1, 2]) await kit(environment(), ["resources", "erase", uuid, "--yes"]);
  expect(await operator.world.rows(`SELECT name FROM lost_sales WHERE uuid = $1`, [uuid])).toEqual([
    { name: null },
  ]);
});
