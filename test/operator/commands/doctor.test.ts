import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type DoctorReport, examine } from "../../../src/operator/doctor/doctor.ts";
import { manifest, SECURE_NODE, version } from "../../../src/operator/doctor/installation.ts";
import { kit, kitJson } from "../../support/kit.ts";
import { aRefusingDatabase } from "../../support/refusing-database.ts";
import { saidTwice } from "../../support/said-twice.ts";
import { aWorld, eventually, opened } from "../../support/world.ts";

const IDS = [
  ..."settings start database migrations restore writes keys notice secret password plans options clocks processes sweeps".split(
    " ",
  ),
  ..."your-service your-jobs tokens steps attention ledgers lost platform sign-in status manifest version".split(
    " ",
  ),
];
/** Those that need the database. */
const OF_THE_DATABASE = IDS.indexOf("platform") - IDS.indexOf("migrations");
const NOWHERE = "http://127.0.0.1:9";
const OTHER_KEY = "a-key-that-sealed-nothing-".repeat(2);

let uuid: string;
let asTheyWere: () => Promise<void>;
const world = opened(() => aWorld());
beforeAll(async () => {
  uuid = await world.settled();
  await eventually(async () => (await world.rows(`SELECT 1 FROM heartbeats`)).length > 0);
  asTheyWere = await world.forged.statesAreNoted();
});
afterEach(async () => {
  await world.forged.planIs("basic");
  world.sandbox.control.clearFaults();
  world.sandbox.control.partner({ clientSecret: world.environment["CLIENT_SECRET"]! });
  await asTheyWere();
});

async function doctor(change: Record<string, string> = {}) {
  const { code, data } = await kitJson<DoctorReport>({ ...world.environment, ...change }, ["doctor"]);
  expect(saidTwice(data)).toEqual([]);
  return {
    ...{ code, ok: data.ok, counts: [data.failed, data.notChecked], ids: data.checks.map(({ id }) => id) },
    of: (id: string) => data.checks.find((each) => each.id === id)!,
  };
}
const said = (part: string) => expect.stringContaining(part) as unknown;

interface Case {
  what: string;
  settings?: () => Record<string, string>;
  /** What is changed before. */
  change?: () => unknown;
  code?: number;
  /** What is found, by the id of the check. */
  finds: Record<string, object>;
}
const warns = (message: string, fix = "") => ({ ok: true, message: said(message), fix: said(fix) });
const isFine = (message: string) => ({ ok: true, message: said(message), fix: null });
const fails = (message: string, fix = "") => ({ ok: false, message: said(message), fix: said(fix) });

const cases: Case[] = [
  {
    what: "settings as in production",
    settings: () => {
      const [PLATFORM_API_URL, PLATFORM_AUTH_URL, PLATFORM_STATUS_URL] = Array(3).fill("https://platform.invalid"); // prettier-ignore
      return { PLATFORM_API_URL, PLATFORM_AUTH_URL, PLATFORM_STATUS_URL, ALLOW_INSECURE_PLATFORM: "off" };
    },
    code: 1,
    finds: { settings: { ...isFine("All settings are there and make sense."), level: "fine" } },
  },
  {
    what: "settings that are remarkable",
    settings: () => ({
      ADDON_PASSWORD_PREVIOUS: "a-password-of-yesterday-which-was-long",
      CLIENT_SECRET: `${world.environment["CLIENT_SECRET"]}\n`,
      DECRYPTION_KEYS: "an-old-key-that-is-not-in-use-".repeat(2),
    }),
    finds: {
      settings: {
        message: expect.stringMatching(/CLIENT_SECRET .*ALLOW_INSECURE_PLATFORM .*ADDON_PASSWORD_PREVIOUS/),
      },
      keys: warns("nothing is sealed with any of DECRYPTION_KEYS", "can be dropped 12 hours after"),
      secret: isFine("the platform accepts it"),
    },
  },
  {
    what: "a missing key, and a platform that is away",
    settings: () => ({ ENCRYPTION_KEY: OTHER_KEY, PLATFORM_API_URL: NOWHERE }),
    code: 1,
    finds: {
      keys: fails("neither ENCRYPTION_KEY nor in DECRYPTION_KEYS", "DECRYPTION_KEYS"),
      secret: fails("client_secrets.sealed_secret of 1 needs key", "First deal with “A key is missing”"),
      platform: fails("PLATFORM_API_URL cannot be reached"),
    },
  },
  ...(
    [
      [{ status: 503 }, "PLATFORM_API_URL answers 503.\nPLATFORM_AUTH_URL answers 503."],
      [{ status: 404, body: "Nothing here" }, "PLATFORM_API_URL answers 404 without JSON"],
    ] as const
  ).map(([answer, message]) => ({
    what: `a platform that answers ${answer.status}`,
    change: () => world.sandbox.control.fault("* /*", answer, 100),
    finds: { platform: warns(message, "kit status") },
  })),
  {
    what: "a status feed that is away",
    settings: () => ({ PLATFORM_STATUS_URL: NOWHERE }),
    finds: { status: warns("cannot be read", "PLATFORM_STATUS_URL") },
  },
  {
    what: "an address without a token endpoint",
    change: () => world.sandbox.control.fault("POST /oauth/token", { status: 404 }),
    finds: { secret: warns("accepts it is not known: POST /oauth/token answered 404", "PLATFORM_AUTH_URL") },
  },
  {
    what: "a client secret that was reset in the portal",
    change: () => world.sandbox.control.partner({ clientSecret: "reset-meanwhile-in-the-portal" }),
    code: 1,
    finds: { secret: fails("rejects our client secret", "kit secret set") },
  },
  {
    what: "access that ends with the present token",
    change: () => world.forged.refreshTokenIsMissing(uuid),
    code: 1,
    finds: { attention: fails("1 resource without a refresh token: access", "kit resources show ") },
  },
  {
    what: "a token that waits for its refresh",
    change: () => late(181),
    finds: { tokens: warns("1 token fails, the first ends in 3 h. The last try: server_error", "catch up") },
  },
  {
    what: "a customer's plan that is no longer on offer",
    change: () => world.forged.planIs("retired"),
    finds: {
      plans: { ...warns("not on offer: retired (1 resource)", "src/your-service/plans.ts"), level: "later" },
    },
  },
  {
    what: "people's client, which the platform does not accept",
    settings: () => ({ OAUTH_CLIENT_ID: "some-client", OAUTH_CLIENT_SECRET: "its-secret-of-last-year" }),
    code: 1,
    finds: { "sign-in": fails("rejects OAUTH_CLIENT_SECRET", "restart") },
  },
  {
    what: "people's client, which the platform accepts",
    settings: () => {
      const client = world.sandbox.control.registerClient({
        name: "addon",
        redirectUri: "http://localhost/oauth/callback",
      });
      return {
        OAUTH_CLIENT_ID: client.id,
        OAUTH_CLIENT_SECRET: client.secret!,
        PUBLIC_URL: "https://addon.example.com",
      };
    },
    finds: { "sign-in": isFine("come back to https://addon.example.com/oauth/callback") },
  },
  {
    what: "a token whose refresh failed once",
    change: () => late(181, 1),
    finds: { tokens: warns("1 token fails, the first ends in 3 h. The last try: server_error", "catch up") },
  },
  {
    what: "a token that waits for its refresh longer than a sweep takes",
    async change() {
      await world.forged.tokensAreTakenByAnother(uuid, 3_600);
      await world.forged.tokensAreDueIn(uuid, -80);
    },
    finds: {
      tokens: { ...warns("", "catch up"), message: "Refreshes are late.", since: said("T") },
    },
  },
  {
    what: "a grant whose exchange failed once",
    async change() {
      await late(181, 1);
      await world.forged.grantIsPending(uuid, { leftSeconds: 290, inSeconds: 60 });
    },
    finds: {
      tokens: {
        ok: true,
        level: "now",
        message: said("The exchange of 1 grant fails. The last try: server_error"),
        since: said("T"),
      },
    },
  },
  {
    what: "a call to the platform that failed once",
    change: () =>
      world.forged.aStepIsLeft({
        uuid,
        kind: "announce",
        inSeconds: 3_600,
        attempts: 1,
        lastError: "it answered 503",
      }),
    finds: {
      steps: warns(
        "1 step failed at the platform and will be tried again: announce. The last error: it answered 503",
        "kit status",
      ),
      "your-service": isFine("Your functions end"),
    },
  },
  {
    what: "a token that ends soon",
    change: () => late(30),
    code: 1,
    finds: { tokens: { ...fails("1 token fails, the first ends in 30 min", "kit status"), level: "urgent" } },
  },
];
async function late(minutesLeft: number, attempts = 6) {
  await world.forged.tokensAreDueIn(uuid, 60);
  await world.forged.tokensExpireIn(uuid, minutesLeft * 60);
  await world.forged.tokensWereTried(uuid, attempts, "server_error: it answered 500");
}

describe("kit doctor", () => {
  it("finds no fault in a running service", async () => {
    const { code, ok, ids, of } = await doctor();
    expect(ids.map(of).filter((check) => !check.ok)).toEqual([]);
    expect({ code, ok, ids }).toEqual({ code: 0, ok: true, ids: IDS });
    const human = await kit(world.environment, ["doctor"]);
    const lines = expect.stringMatching(/^! settings [^✓]*\n✓ start .*\n✓ database [^]*No check failed;/);
    expect(human).toMatchObject({ code: 0, stderr: "", stdout: lines });
  });

  it.each(cases)("finds $what", async ({ settings, change, code = 0, finds }) => {
    await change?.();
    const found = await doctor(settings?.());
    for (const [id, what] of Object.entries(finds)) expect(found.of(id)).toMatchObject({ id, ...what });
    expect(found.code).toBe(code);
    // The doctor changes nothing.
    expect(await world.rows(`SELECT 1 FROM client_secrets WHERE rejected_at IS NOT NULL`)).toEqual([]);
  });

  it("checks the app manifest if there is one", async () => {
    expect(await manifest()).toMatchObject(isFine("can be made"));
    const folder = await mkdtemp(path.join(tmpdir(), "doctor-"));
    expect(await manifest(folder)).toMatchObject(isFine("no app.json"));
    await writeFile(path.join(folder, "app.json"), '{"env": 1}');
    expect(await manifest(folder)).toMatchObject(fails("", "kit manifest check"));
    await rm(folder, { recursive: true });
  });

  it.each([
    ["20.20.2", "its line has ended"],
    ["22.22.9", "lacks security fixes"],
    ["22.23.4", ""],
    ["23.11.0", "its line has ended"],
    ["24.22.2", ""],
    ["26.0.0", "lacks security fixes"],
    ["27.0.0-nightly", ""],
  ])("says of Node %s what it lacks: %s", (node, lacks) =>
    expect(version(node)).toMatchObject(lacks ? warns(lacks, SECURE_NODE[0]) : isFine("Version ")),
  );

  it("recommends the versions of Node that the README does", async () =>
    expect((await readFile("README.md", "utf8")).replace(/\s+/g, " ")).toContain(
      `run ${SECURE_NODE.join(", ")} or newer`,
    ));

  it("works when the database is away", async () => {
    const away = { DATABASE_URL: "postgresql://nobody:hidden-password@127.0.0.1:9/none" };
    const { code, ids, of, counts } = await doctor(away);
    expect({ code, ids, counts }).toEqual({ code: 1, ids: IDS, counts: [1, OF_THE_DATABASE] });
    expect([of("database").ok, of("keys").ok, of("platform").ok]).toEqual([false, false, true]);
    expect(of("keys")).toMatchObject({
      isChecked: false,
      level: "unknown",
      message: "Not checked, because of: database.",
    });
    const { stdout } = await kit({ ...world.environment, ...away }, ["doctor"]);
    expect(stdout).toMatch(/\n– keys [^]*/);
    expect(stdout).toContain(`\n1 of ${IDS.length} checks failed, ${OF_THE_DATABASE} could not be made.\n`);
    const list = await kit({ ...world.environment, ...away }, ["resources", "list"]);
    expect(list).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("ECONNREFUSED") });
    expect(list.stderr).not.toContain("hidden-password");
  });

  it.each([
    [{ PLATFORM_API_URL: "nowhere" }, "PLATFORM_API_URL"],
    [{ OPERATOR_ACCOUNTS: "one@example.com" }, "and beside OPERATOR_ACCOUNTS"],
  ])("says what it could not check because of the settings: %j", async (settings, message) => {
    const { code, ids, counts, of } = await doctor(settings);
    expect({ code, ids, counts }).toEqual({ code: 78, ids: IDS, counts: [1, IDS.length - 1] });
    expect(of("settings")).toMatchObject(fails(message, ".env"));
  });

  const withoutAnswers = (error: Error) => async () => {
    const { services } = world.service;
    return { ...services, db: { ...services.db, readWhole: () => Promise.reject(error) } };
  };
  const locked = Object.assign(new Error("lock timeout"), { code: "55P03", severity: "ERROR" });
  const noFile = new Error("No such file.");
  it.each([
    // The keys and the plans: what reads whole tables.
    [
      "a lock of another session",
      withoutAnswers(locked),
      0,
      Array(2).fill(fails("lock timeout", "holds a lock")),
    ],
    ["a statement without an answer", withoutAnswers(new Error("Connection terminated unexpectedly")), 2, []],
    [
      ...(["a service that cannot be started", () => Promise.reject(noFile)] as const),
      ...([IDS.length - 2, [{ id: "start", message: noFile.message }]] as const),
    ],
  ])("distinguishes %s", async (_, open, notChecked, faults) => {
    const { config } = world.service.services;
    const report = await examine({ readSettings: () => config, open });
    expect(report).toMatchObject({ ok: false, failed: faults.length, notChecked });
    const found = report.checks.filter(({ ok, isChecked }) => !ok && isChecked !== false);
    expect(found).toMatchObject(faults);
  });

  it("tells a database that refuses from one that does not answer", async () => {
    const database = await aRefusingDatabase("28P01", "not you");
    const { code, of } = await doctor({ DATABASE_URL: database.url });
    await database.close();
    expect([code, of("database")]).toMatchObject([1, fails("DATABASE_URL: the database answers: not you")]);
  });

  it("reports every job that has never completed a run as late when no process runs", async () => {
    await world.forged.nothingIsLeftOf("heartbeats");
    await world.restart({ environment: { WEB_JOBS: "off" } });
    expect((await doctor()).of("sweeps")).toMatchObject(isFine("The sweeps run."));
    await world.forged.jobLastRan("run-steps", 70);
    await world.forged.aStepIsLeft({ uuid, kind: "discover", inSeconds: -90 });
    const late = "Late sweep: run-steps.\n1 step of put-off work waits for its turn.";
    expect((await doctor()).of("sweeps")).toMatchObject({ ok: true, message: late });
    await world.forged.noJobRanFor(180);
    await world.forged.jobLastRan("of-another-build", 180);
    const { ok, message } = (await doctor()).of("sweeps");
    await world.restart();
    expect(ok).toBe(false);
    expect(message).toContain("last ended or first expected: ");
    for (const name of world.service.services.jobs.names) expect(message).toContain(`${name} (`);
    expect(message).not.toContain("of-another-build");
  });
});
