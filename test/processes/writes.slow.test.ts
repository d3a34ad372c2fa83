import type { DoctorReport } from "../../src/operator/doctor/doctor.ts";
import { aWorldOfAnOperator } from "../operator/pages/operator.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { kit, kitJson } from "../support/kit.ts";
import { eventually, opened, QUICK } from "../support/world.ts";
import { aRefusal } from "./refusal.ts";

// A database that answers reads, and takes no writes.

const operator = opened(() => aWorldOfAnOperator({ parts: { pace: { ...QUICK, beatMs: 500 } } }));
const said = (part: string): unknown => expect.stringContaining(part);
const writes = async () => {
  const { data } = await kitJson<DoctorReport>(operator.world.environment, ["doctor"]);
  return data.checks.find(({ id }) => id === "writes")!;
};
const count = async () =>
  operator.world
    .rows(`SELECT (SELECT count(*)::int FROM resources) AS resources, (SELECT count(*)::int FROM credentials) AS credentials,
    (SELECT count(*)::int FROM steps) AS steps, (SELECT count(*)::int FROM events) AS events`);

it("kit doctor writes what a sale writes, and leaves nothing of it", async () => {
  await operator.life.settled();
  const before = await count();
  expect(await writes()).toMatchObject({
    ok: true,
    fix: null,
    message: "The database takes what a sale writes.",
  });
  expect(await count()).toEqual(before);
});

it.each([
  ["resources", "53100", "Make room on the disk"],
  ["credentials", "25006", "let DATABASE_URL lead to the primary"],
  ["steps", "42501", "Grant the right"],
  ["events", "53200", "more memory"],
  ["events", "XX001", "restore a backup"],
  ["resources", "P0001", "PostgreSQL's own log says more"],
])("kit doctor finds that %s takes no writes (%s)", async (table, state, fix) => {
  const refusal = await aRefusal(operator.world, table, state);
  expect(await writes()).toMatchObject({ ok: false, message: said("The database takes no writes, and each sale is lost"), fix: said(fix) }); // prettier-ignore
  await refusal.end();
  expect(await writes()).toMatchObject({ ok: true });
});

it("the last write that was refused to a process is shown with its reason, by doctor, kit processes and the overview", async () => {
  const refusal = await aRefusal(operator.world, "resources", "53100");
  const [answer] = await Promise.all([operator.life.platform.provision(aProvisionRequest())]);
  expect(answer.status).toBe(503);
  await refusal.end();
  type Listed = { processes: { lastRefusedWrite: object | null }[] };
  const last = async () =>
    (await kitJson<Listed>(operator.world.environment, ["processes"])).data.processes[0]!.lastRefusedWrite;
  const at = expect.stringMatching(/Z$/);
  const own = { at, since: at, state: "53100", reason: "provision: refused by a test" };
  await eventually(async () => expect(await last()).toEqual(own));
  const words = "53100, provision: refused by a test";
  expect(await writes()).toMatchObject({ ok: false, message: said(words), fix: said("Make room") });
  await eventually(async () => expect((await operator.get()).text).toContain(words));
  const human = await kit(operator.world.environment, ["processes"]);
  expect(human.stdout).toMatch(/the database refused a write at .*: 53100, provision: /);
  // A write that its data make impossible is none of these.
  await operator.world.forged.writesWereRefused(3_600);
  await operator.world.restart();
  await operator.world.forged.writesWereRefused(3_600);
  expect(await writes()).toMatchObject({
    ok: true,
    message: said("The database refused a write of web "),
    since: expect.stringMatching(/Z$/),
    fix: said("kit lost"),
  });
});

it("since when writes are refused is known from the first refusal on, or else from the last beat", async () => {
  const { world, life } = operator;
  const begun = Date.now();
  const refusal = await aRefusal(world, "resources", "53100");
  const refused = () => life.platform.provision(aProvisionRequest());
  expect([(await refused()).status, (await refused()).status]).toEqual([503, 503]);
  const since = async () => Date.parse((await writes()).found![0]!.since!);
  const isAgo = (ms: number, seconds: number) => Math.abs(Date.now() - ms - seconds * 1_000) < 60_000;
  // Its last beat stores what was refused.
  await world.service.stop();
  expect(await since()).toBeGreaterThanOrEqual(begun - 1_000);
  await world.forged.writesAreRefusedSince(240);
  expect(isAgo(await since(), 240)).toBe(true);
  // A refusal of long ago is of another trouble. A beat is a write: none has been stored since.
  await world.forged.writesWereRefused(3_600);
  await world.forged.processesBeatAgo(600);
  expect(isAgo(await since(), 600)).toBe(true);
  await world.restart();
  await refusal.end();
});

it("so is one that goes through Prisma, as that of a lost sale", async () => {
  const [sales, lost] = [
    await aRefusal(operator.world, "resources", "53100"),
    await aRefusal(operator.world, "lost_sales", "53100"),
  ];
  expect((await operator.life.platform.provision(aProvisionRequest())).status).toBe(503);
  await sales.end();
  const message = expect.stringMatching(/: 53100, LostSale\.createMany: .*refused by a test/) as unknown;
  await eventually(async () => expect(await writes()).toMatchObject({ ok: false, message, fix: said("Make room") })); // prettier-ignore
  await lost.end();
});

it("no advice claims that the platform is in trouble", async () => {
  const refusal = await aRefusal(operator.world, "resources", "53100");
  await operator.life.settled().catch(() => undefined);
  const { stdout } = await kit(operator.world.environment, ["doctor"]);
  expect(stdout).not.toMatch(/otherwise the platform is in trouble/);
  await refusal.end();
});
