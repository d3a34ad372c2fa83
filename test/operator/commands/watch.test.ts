import { randomUUID } from "node:crypto";
import type { Extensions } from "../../../src/extend/contract.ts";
import { aVendor, type Vendor } from "../../support/a-vendor.ts";
import { runningKit } from "../../support/kit.ts";
import { aLifecycle } from "../../support/lifecycle.ts";
import { onTerminal } from "../../support/terminal.ts";
import { eventually, opened } from "../../support/world.ts";

// Commands that look again and again.

const CTRL_C = "\u0003";
/** As a line begins that is not drawn over another one. */
const AT = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}/;

const vendor: Vendor & Extensions = {
  ...aVendor(),
  rotation: {
    rotate: async ({ idempotencyKey }) => ({ config: { TEAPOT_TOKEN: idempotencyKey }, retires: "old" }),
    retire: async () => {},
  },
};
const parts = { vendor, pace: { watchMs: 20 } };
let uuid: string;
const life = opened(() => aLifecycle({ parts: { vendor } }));
beforeAll(async () => {
  uuid = await life.settled();
  await eventually(async () => (await life.world.rows(`SELECT 1 FROM heartbeats`)).length > 0);
});
afterEach(() => life.control.clearFaults());

const watching = (...words: string[]) => runningKit(life.world.environment, [...words, "--watch"], parts);
const shows = ({ said }: ReturnType<typeof watching>, what: RegExp) =>
  eventually(() => expect(said.stdout).toMatch(what));

describe("kit doctor --watch", () => {
  afterEach(() => life.world.forged.planIs("basic"));

  it("says in a line what each look found, and ends with the exit code of the last one", async () => {
    const doctor = watching("doctor");
    await shows(doctor, /No check failed.*\n.*No check failed/);
    await life.world.forged.planIs("retired");
    await shows(doctor, /No check failed; look at the warnings\. .*plans \(later\)/);
    life.control.partner({ clientSecret: "reset-meanwhile-in-the-portal" });
    await shows(doctor, /1 of \d+ checks failed, 0 could not be made\. secret \(urgent\), /);
    doctor.signal("SIGINT");
    const { code, stdout, stderr } = await doctor.ended;
    life.control.partner({ clientSecret: life.world.environment["CLIENT_SECRET"]! });
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    for (const line of stdout.trimEnd().split("\n")) expect(line).toMatch(AT);
  });

  it("with --json prints a document in a line for each look", async () => {
    const doctor = watching("doctor", "--json");
    await shows(doctor, /\n.*\n/);
    doctor.signal("SIGTERM");
    const { code, stdout } = await doctor.ended;
    const looks = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    expect(code).toBe(0);
    for (const look of looks)
      expect(look).toMatchObject({ at: expect.any(String), ok: true, checks: expect.any(Array) });
  });

  it("is renewed in place on a terminal, with what is not fine first", async () => {
    const terminal = onTerminal(life.world.environment, ["doctor", "--watch"], parts);
    // eslint-disable-next-line no-control-regex
    await terminal.type(CTRL_C, /\u001b\[\d+A[^]*\u001b\[\d+A/);
    const { code, screen } = await terminal.ended();
    expect(code).toBe(0);
    expect(screen.filter((line) => line.startsWith("kit doctor · "))).toHaveLength(1);
    expect(screen[1]).toMatch(/^! settings {6}ALLOW_INSECURE_PLATFORM is on/);
    expect(screen.join("\n")).toMatch(/\n✓ \d+ fine +start, database, migrations/);
    for (const line of screen) expect(line.length).toBeLessThanOrEqual(80);
  });
});

describe("kit rotate --all --watch", () => {
  const toRetire = /Left: 1 to be retired \(the first in 120 min, the last in 120 min\)\./;

  it("counts down what was asked for, until the old credentials are retired", async () => {
    const rotate = watching("rotate", "--all");
    await shows(rotate, toRetire);
    await life.world.forged.stepsFellDue(uuid, { kind: "retire" });
    const { code, stdout } = await rotate.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/^1 asked for, 0 failed, 0 skipped\.\n/m);
    expect(stdout).toMatch(/Nothing is left\.\n$/);
  });

  it("ended by Ctrl-C before that exits with 1, and what was asked for goes on", async () => {
    const rotate = watching("rotate", uuid);
    await shows(rotate, toRetire);
    rotate.signal("SIGINT");
    expect((await rotate.ended).code).toBe(1);
    expect(await life.steps(uuid)).toEqual(["retire"]);
    await life.world.forged.stepsFellDue(uuid);
    await eventually(async () => expect(await life.steps(uuid)).toEqual([]));
  });

  it("says what will not be done any more", async () => {
    const rotate = watching("rotate", uuid, randomUUID(), "--json");
    await shows(rotate, /"name":"to be retired","count":1/);
    await life.world.forged.stepsFellDue(uuid);
    const { code, stdout } = await rotate.ended;
    const all = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { left: object[]; done?: object });
    // Work that takes longer than a look says before how far it is.
    const [report, ...looks] = all.slice(all.findIndex(({ done }) => Array.isArray(done)));
    expect({ code, report }).toMatchObject({
      code: 1,
      report: { done: [uuid], failed: [{ id: "not_found" }] },
    });
    expect(looks.at(-1)!.left).toContainEqual({ name: "not asked for", count: 1, about: null });
  });
});

it("kit tokens refresh --all --watch waits for the service to refresh what failed", async () => {
  life.control.fault("POST /oauth/token", { status: 503 }, 1);
  const refresh = watching("tokens", "refresh", "--all");
  await shows(refresh, /0 refreshed, 1 failed, 0 skipped\.\n/);
  await shows(refresh, /Left: 1 to be refreshed \(the first error: .*503/);
  await life.world.forged.tokensFellDue(uuid);
  const { code, stdout } = await refresh.ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(/Nothing is left\.\n$/);
});
