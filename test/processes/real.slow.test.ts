import { randomBytes } from "node:crypto";
import type { DoctorReport } from "../../src/operator/doctor/doctor.ts";
import { kitJson } from "../support/kit.ts";
import { aProcessWorld, before } from "../support/process-world.ts";
import { eventually, opened } from "../support/world.ts";

// Processes that end without a signal, stand still, or cannot start.

const life = opened(() => aProcessWorld());
const rows: (typeof life.world)["rows"] = (...asked) => life.world.rows(...asked);
const without = () => life.world.forged.nothingIsLeftOf("processes");
beforeAll(without);
afterEach(async () => {
  await life.killAll();
  await without();
});

interface Listed {
  processes: { role: string; pid: number; state: string; why: string | null }[];
}
const listed = async () => (await kitJson<Listed>(life.world.environment, ["processes"])).data.processes;
const stateOf = async (pid: number) => (await listed()).find((each) => each.pid === pid)?.state;

/** As if two minutes had passed for this process, and ten for the others. */
const age = (pid: number) => life.world.forged.processIsSilent(pid, 600);

/** The same again and again: a beat may be on its way. */
async function aged<Found>(pid: number, look: () => Found): Promise<Found> {
  await age(pid);
  return look();
}

it("one that is killed or stands still is reported by another; one that continues resumes its row", async () => {
  const [web, worker] = [await life.start("web"), await life.start("worker")];
  // Each is ready before it has stored so, and a beat on its way would be taken for one of a process that goes on.
  await eventually(async () =>
    expect((await listed()).map(({ pid, state }) => [pid, state]).sort()).toEqual(
      [web, worker].map(({ pid }) => [pid, "ready"]).sort(),
    ),
  );
  worker.signal("SIGSTOP");
  const missing = () => web.output().match(/{[^\n]*"process_missing"[^\n]*}/g) ?? [];
  await eventually(() => aged(worker.pid, () => expect(missing()).toHaveLength(1)));
  expect(JSON.parse(missing()[0]!)).toMatchObject({
    level: "error",
    role: "worker",
    pid: worker.pid,
    seconds: expect.any(Number),
  });
  expect(await stateOf(worker.pid)).toBe("missing");
  const { data } = await kitJson<DoctorReport>(life.world.environment, ["doctor"]);
  const check = data.checks.find(({ id }) => id === "processes");
  expect(check).toMatchObject({
    ok: false,
    message: expect.stringContaining("or cannot reach the database"),
  });
  worker.signal("SIGCONT");
  await eventually(async () => expect(await stateOf(worker.pid)).toBe("ready"));
  await eventually(() => worker.output().includes("This process sends heartbeats again"));
  expect(worker.output()).not.toContain("clocks_apart");
  expect(await listed()).toHaveLength(2);

  worker.signal("SIGKILL");
  await worker.ended;
  await eventually(() => aged(worker.pid, () => missing().length === 2));
  web.signal("SIGTERM");
  await web.ended;
  expect(await stateOf(web.pid)).toBe("stopped");
});

it("a deploy in which the old ones get SIGTERM leaves nothing missing", async () => {
  const old = await life.start("worker");
  const next = await life.start("worker");
  old.signal("SIGTERM");
  expect(await old.ended).toBe(0);
  await age(old.pid);
  // It is ready before it has stored so.
  await eventually(async () =>
    expect((await listed()).map(({ pid, state }) => [pid, state])).toEqual([
      [next.pid, "ready"],
      [old.pid, "stopped"],
    ]),
  );
});

it("one that crashed says so", async () => {
  const worker = await life.start("worker", before(`process.on("SIGUSR2", () => { Promise.reject(new Error("a bug")); });`)); // prettier-ignore
  worker.signal("SIGUSR2");
  expect(await worker.ended).toBe(1);
  expect(await listed()).toMatchObject([{ state: "stopped", why: "an error was not caught" }]);
});

/** A process that ends with 78 has a second to store why; on a busy machine that may be too little. */
const PATIENTLY = `const real = setTimeout;
  globalThis.setTimeout = (work, ms, ...given) => real(work, ms === 1_000 ? 30_000 : ms, ...given);`;
const WRONG = "hunter2-hunter2-hunter2-hunter2-hunter2";
it.each<[string, Record<string, string>, string]>([
  ["a setting", { SWEEP_CRON: WRONG }, "SWEEP_CRON"],
  ["several", { SWEEP_CRON: WRONG, ADDON_ID: `${WRONG}:`, PORT: WRONG }, "PORT, ADDON_ID, SWEEP_CRON"],
  ["its keys", { ENCRYPTION_KEY: randomBytes(24).toString("hex") }, "ENCRYPTION_KEY, DECRYPTION_KEYS"],
  ["its address", { HOST: "192.0.2.1" }, "HOST, PORT"],
])(
  "one that ends with 78 because of %s names it in its one row, without the value",
  async (_, environment, why) => {
    const start = life.start("web", { ...environment, ...before(PATIENTLY) });
    await expect(start).rejects.toThrow("web ended with 78");
    expect(await listed()).toMatchObject([{ role: "web", state: "misconfigured", why }]);
    expect(JSON.stringify(await rows(`SELECT * FROM processes`))).not.toContain(WRONG);
  },
);

it("one whose database lacks a migration says that", async () => {
  await rows(`UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name LIKE '2026113001%'`);
  // As before the migrations that added them.
  const renamed = (from: string, to: string) =>
    Promise.all(
      ["beats", "refused_since", "wrong_passwords"].map((column) =>
        rows(`ALTER TABLE processes RENAME COLUMN ${from}${column} TO ${to}${column}`),
      ),
    );
  await renamed("", "later_");
  try {
    await expect(life.start("worker", before(PATIENTLY))).rejects.toThrow("worker ended with 78");
    const why = expect.stringMatching(/^The database lacks \d+ migrations of the kit/);
    expect(await rows(`SELECT state, why FROM processes`)).toMatchObject([{ state: "misconfigured", why }]);
  } finally {
    await renamed("later_", "");
    await rows(`UPDATE _prisma_migrations SET finished_at = now()`);
  }
});

it("one whose own clock is wrong says so", async () => {
  const clock = `const Real = Date; globalThis.Date = class extends Real {
    constructor(...given) { given.length ? super(...given) : super(Real.now() - 600_000); }
    static now() { return Real.now() - 600_000; } };`;
  const web = await life.start("web", before(clock));
  await life.install(1);
  await eventually(() => /"clocks_apart".*This process's clock is (600|601|599) s behind the database's and the platform's\./.test(web.output())); // prettier-ignore
});
