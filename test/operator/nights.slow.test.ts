import type { OpenContext } from "../../src/context.ts";
import { KitError } from "../../src/errors.ts";
import { type DoctorReport, examine } from "../../src/operator/doctor/doctor.ts";
import type { Check } from "../../src/operator/doctor/finding.ts";
import type { Fact } from "../../src/operator/facts/fact.ts";
import { FACTS } from "../../src/operator/facts/facts.ts";
import { createOverview } from "../../src/operator/overview.ts";
import type { Process } from "../../src/processes/store.ts";
import { Secret } from "../../src/secret.ts";
import { createVault } from "../../src/vault/vault.ts";
import { aRow } from "../processes/rows.ts";
import { kit, kitJson } from "../support/kit.ts";
import { saidTwice } from "../support/said-twice.ts";
import { eventually, opened } from "../support/world.ts";
import { aWorldOfAnOperator } from "./pages/operator.ts";

// Nights that were played with a stopwatch: each brings about a fault, and an operator sees its cause first.

const operator = opened(() => aWorldOfAnOperator());
let uuid: string;
let asTheyWere: () => Promise<void>;
beforeAll(async () => {
  uuid = await operator.life.settled();
  asTheyWere = await operator.world.forged.statesAreNoted();
});
afterEach(async () => {
  const { control, world } = operator;
  control.clearFaults();
  const { ADDON_PASSWORD, CLIENT_SECRET } = world.environment;
  control.partner({ addonPassword: ADDON_PASSWORD!, clientSecret: CLIENT_SECRET! });
  await world.rows(`DELETE FROM processes WHERE host = 'elsewhere'`);
  await world.forged.nothingIsLeftOf("steps");
  await asTheyWere();
});

type Found = Check & { level: string };
const doctor = async () => {
  const { data } = await kitJson<DoctorReport>(operator.world.environment, ["doctor"]);
  expect(saidTwice(data)).toEqual([]);
  return (id: string): Found => data.checks.find((check) => check.id === id)!;
};

const CARDS = /<article class="fact (\w+)( caused)?"><h3><span[^>]*>[^<]*<\/span> ([^<]*)/g;
/** The titles on the overview in their order, those that another one causes in brackets. */
const cards = async (): Promise<string[]> => {
  const { html } = await operator.get();
  return [...html.matchAll(CARDS)].map(([, , caused, title]) => (caused ? `(${title!})` : title!));
};
const firstIs = (...titles: string[]) =>
  eventually(async () => expect((await cards()).slice(0, titles.length)).toEqual(titles));

/** The service's parts, with another database. */
const withDatabase = (change: Partial<OpenContext["db"]>): OpenContext => {
  const { services } = operator.world.service;
  return { ...services, db: { ...services.db, ...change } };
};

it("a platform that fails stands before the grants that wait for it", async () => {
  operator.control.fault("* /*", { status: 503 }, 1_000);
  await operator.world.forged.grantIsPending(uuid, { leftSeconds: 250, inSeconds: 60 });
  await operator.world.forged.tokensWereTried(uuid, 1, "it answered 503");
  await firstIs("The platform fails", "The platform fails", "(A grant has not been exchanged)");
  const of = await doctor();
  const [waits, fails] = of("tokens").found!;
  const because = {
    because: "platform_fails",
    fix: "First deal with “The platform fails”, which may cause it.",
  };
  expect([waits, fails]).toMatchObject([
    { fact: "grant_waits", ...because },
    { fact: "grants_fail", ...because },
  ]);
  // The cause is as urgent as what it causes, and no other secret is asked for.
  expect([of("platform").level, of("secret")]).toMatchObject(["urgent", because]);
});

it("an open incident, or a platform that answers, causes nothing", async () => {
  await operator.world.forged.grantIsPending(uuid, { leftSeconds: 250, inSeconds: 60 });
  expect((await doctor())("tokens").found ?? [(await doctor())("tokens")]).toMatchObject([
    { fact: "grant_waits" },
  ]);
  expect((await doctor())("tokens").fix).toContain("First fix what else is found");
});

it("a client secret that was reset shows with the first sign of it, before it would be tried again", async () => {
  const { services } = operator.world.service;
  const overview = createOverview({ ...services, pace: { ...services.pace, freshMs: 0, probeMs: 60_000 } });
  const titles = async () => (await overview()).issues.map(({ title }) => title);
  expect(await titles()).not.toContain("The platform rejects our client secret");
  operator.control.partner({ clientSecret: "reset-meanwhile-in-the-portal" });
  await operator.world.forged.grantIsPending(uuid, { leftSeconds: 250, inSeconds: 60 });
  await eventually(
    async () => expect((await titles())[0]).toBe("The platform rejects our client secret"),
    45_000,
  );
});

it("a wrong password of the platform shows until a call has the right one", async () => {
  operator.control.partner({ addonPassword: "another-password-than-ours" });
  for (const plan of ["basic", "premium"])
    expect((await operator.control.install({ plan })).response.status).toBe(401);
  await firstIs("The platform's calls have a wrong password");
  // A beat between the two calls stored the first one alone.
  const { level, since } = await eventually(async () => {
    const found = (await doctor())("password");
    expect(found.message).toContain("2 calls of the user teapots had a wrong password");
    return found;
  });
  expect(level).toBe("now");
  expect(Date.now() - Date.parse(since!)).toBeLessThan(60_000);
  operator.control.partner({ addonPassword: operator.world.environment["ADDON_PASSWORD"]! });
  await operator.control.install({ plan: "basic" });
  await eventually(async () =>
    expect(await cards()).not.toContain("The platform's calls have a wrong password"),
  );
});

it("a stranger's user name is not the platform's", async () => {
  const authorization = `Basic ${Buffer.from("someone:some-password").toString("base64")}`;
  const answer = await fetch(`${operator.url()}/resources`, { method: "POST", headers: { authorization } });
  expect(answer.status).toBe(401);
  await eventually(async () => {
    const [row] = await operator.world.rows(
      `SELECT 1 FROM processes WHERE beat_at > now() - interval '1 second'`,
    );
    expect(row).toBeDefined();
  });
  expect((await doctor())("password")).toMatchObject({ ok: true, fix: null });
});

it.each([
  [310, "now"],
  [1_600, "urgent"],
])("a database that takes %d ms to answer is %s", async (ms, level) => {
  const slow = withDatabase({ ping: () => new Promise((done) => setTimeout(done, ms)) });
  const { checks } = await examine({ readSettings: () => slow.config, open: () => Promise.resolve(slow) });
  expect(checks.find(({ id }) => id === "database")).toMatchObject({ fact: "database_slow", level });
});

it("a database that takes no writes is the only card, and what could not be checked is a line", async () => {
  const { query } = operator.world.service.services.db;
  const lastBeatAt = "2026-01-31T00:00:00.000Z";
  const silent: Partial<Process> = { beatSeconds: 90, lastBeatAt, lastRefusedWrite: null };
  const away = withDatabase({
    ping: () => Promise.reject(new KitError("database_read_only", "the database is read-only")),
    query: async (what, ...values) => {
      const rows = await query(what, ...values);
      return what.name === "list_processes" ? rows.map((row) => Object.assign(row as object, silent)) : rows;
    },
  } as Partial<OpenContext["db"]>);
  const { issues, notChecked } = await createOverview(away)();
  expect(issues[0]).toMatchObject({
    fact: "database_unreachable",
    since: lastBeatAt,
    fix: expect.stringMatching(/^It is a standby/),
  });
  for (const { title } of issues) expect(title).toEqual(expect.any(String));
  expect(notChecked).toContain("tokens");
});

it("tokens that the platform refused are not said to catch up by themselves", async () => {
  operator.control.revoke(uuid, "refresh");
  await kitJson(operator.world.environment, ["tokens", "refresh", uuid]);
  const found = (await doctor())("tokens");
  expect(found).toMatchObject({
    fact: "tokens_refused",
    level: "later",
    whom: { count: 1, uuids: [uuid] },
    since: expect.any(String),
    fix: expect.stringContaining("ask the platform's support"),
  });
  expect(found.message).toContain("revoked");
});

it("a resource with two steps that fail is named once", async () => {
  const failed = {
    uuid,
    kind: "announce",
    inSeconds: 3_600,
    attempts: 1,
    lastError: "it answered 503",
  } as const;
  await operator.world.forged.aStepIsLeft(failed);
  await operator.world.forged.aStepIsLeft(failed);
  expect((await doctor())("steps")).toMatchObject({
    message: expect.stringMatching(/^2 steps failed/),
    whom: { count: 1, uuids: [uuid] },
  });
});

it("a process that missed two beats is late, before it counts as missing", async () => {
  const pid = await aRow(operator.world, { beat: 40 });
  expect((await doctor())("processes")).toMatchObject({
    fact: "process_late",
    level: "now",
    message: expect.stringContaining(`web elsewhere:${pid} has missed two heartbeats or more`),
  });
});

it("calls that hang are named, and listed by their link", async () => {
  await operator.world.forged.aStepIsLeft({
    ...{ uuid, kind: "change_plan", inSeconds: -60, attempts: 1, lease: 1, leaseSeconds: 3_600 },
    detail: { plan: "premium", was: "basic" },
  });
  expect((await doctor())("your-service")).toMatchObject({
    fact: "function_hangs",
    whom: { count: 1, list: { failing: "hanging" } },
  });
  const list = async (failing: string) => {
    const { data } = await kitJson<{ resources: { uuid: string }[] }>(operator.world.environment, [
      ...["resources", "list", "--failing", failing],
    ]);
    return data.resources.map((each) => each.uuid);
  };
  expect([await list("hanging"), await list("any")]).toEqual([[uuid], []]);
});

describe("since when", () => {
  const ago = (since: string | undefined) => Math.round((Date.now() - Date.parse(since!)) / 60_000);
  const checks = async (environment = operator.world.environment) => {
    const { data } = await kitJson<DoctorReport>(environment, ["doctor"]);
    return (id: string) => data.checks.find((check) => check.id === id)!;
  };

  it("no process has had a key is known from the processes, and since when there is a newer one", async () => {
    const { environment, forged } = operator.world;
    const oldKey = environment["ENCRYPTION_KEY"]!;
    const newer = { ...environment, ENCRYPTION_KEY: "a-new-key-of-more-than-32-characters" };
    // One that runs has it: then only the command's own ring lacks it.
    expect((await checks(newer))("keys")).toMatchObject({ fact: "key_missing" });
    expect((await checks(newer))("keys").since).toBeUndefined();
    await operator.world.service.stop();
    await forged.processesBeatAgo(25 * 60);
    expect(ago((await checks(newer))("keys").since)).toBe(25);
    const { keyId } = await createVault({ encryptionKey: new Secret(newer.ENCRYPTION_KEY) });
    await operator.world.rows(
      `INSERT INTO sealing_keys (key_id, first_used_at) VALUES ($1, now() - interval '3 hours')`,
      [keyId],
    );
    const old = (await checks({ ...newer, DECRYPTION_KEYS: oldKey }))("keys");
    expect([old.fact, ago(old.since)]).toEqual(["keys_old", 180]);
    await forged.keyWasNeverUsed(keyId);
    await operator.world.restart();
  });

  it("too few processes run is known from the last beat of the one that is lacking", async () => {
    const { environment } = operator.world;
    const expected = { ...environment, PROCESSES_EXPECTED: "2" };
    const few = async () => (await checks(expected))("processes");
    await operator.world.rows(`DELETE FROM processes WHERE state = 'stopped'`);
    // Too few from the beginning on.
    expect(await few()).toMatchObject({ fact: "processes_few" });
    expect((await few()).since).toBeUndefined();
    await operator.world.forged.processesStarted(3_600, {});
    await aRow(operator.world, { state: "stopped", beat: 40 * 60 });
    await aRow(operator.world, { state: "stopped", beat: 50 * 60 });
    const { found, ...only } = await few();
    expect(ago((found ?? [only]).find(({ fact }) => fact === "processes_few")!.since)).toBe(40);
  });

  it("a step is stuck, and since when a token is the last, is known from their rows", async () => {
    await operator.world.forged.aStepIsLeft({
      ...{ uuid, kind: "announce", inSeconds: 3_600, attempts: 14, lastError: "it answered 503" },
      detail: { dueSince: new Date(Date.now() - 5 * 3_600_000).toISOString() },
    });
    await operator.world.forged.refreshTokenIsMissing(uuid);
    await operator.world.forged.tokensAreFrom(uuid, 7_200);
    const of = await checks();
    expect([ago(of("steps").since), ago(of("attention").since)]).toEqual([300, 120]);
    expect((await kit(operator.world.environment, ["doctor"])).stdout).toMatch(/since .* \(5 h ago\), UTC/);
  });
});

it("most jobs that are late together have no process that runs them, and the last worker is named", async () => {
  const pid = await aRow(operator.world, { role: "worker", beat: 7_300, started: 9_000 });
  await operator.world.service.stop();
  await operator.world.rows(`UPDATE heartbeats SET at = now() - interval '2 hours'`);
  const words = `No process seems to run jobs: the last worker, worker elsewhere:${pid}, sent its last heartbeat at `;
  expect((await doctor())("sweeps")).toMatchObject({
    fact: "sweeps_late",
    message: expect.stringMatching(new RegExp(`^${words}.* \\(UTC\\)\\. Late sweeps, `)),
  });
  await operator.world.restart();
});

it("a key that is missing is the cause of a client secret that cannot be decrypted", async () => {
  const { environment } = operator.world;
  const { data } = await kitJson<DoctorReport>(
    { ...environment, ENCRYPTION_KEY: "a-new-key-of-more-than-32-characters", CLIENT_SECRET: "" },
    ["doctor"],
  );
  const secret = data.checks.find(({ id }) => id === "secret");
  expect(secret).toMatchObject({ fact: "secret_missing", because: "key_missing" });
});

it("a notice that is up is a remark, with its text, its end and since when", async () => {
  const { environment } = operator.world;
  await kitJson(environment, ["notice", "set", "Kiln three is cold.", "--severity", "outage"]);
  expect((await doctor())("notice")).toMatchObject({
    ...{ ok: true, level: "remark", since: expect.any(String) },
    message: expect.stringMatching(/\(outage\).*without an end: “Kiln three is cold\.”$/),
  });
  expect(await cards()).toContain("Customers see a notice");
  await kitJson(environment, ["notice", "clear"]);
  expect((await doctor())("notice")).toMatchObject({ message: "Customers see no notice.", fix: null });
});

it("the runbook opens at the chapter of what was found", async () => {
  operator.control.fault("* /*", { status: 503 }, 1_000);
  await firstIs("The platform fails");
  const { html } = await operator.get();
  const [, path] = /href="[^"]*\/operator(\/runbook#[^"]*)"[^>]*>Runbook: The platform does not answer</.exec(
    html,
  )!;
  const [page, anchor] = path!.split("#");
  const runbook = await operator.get(page);
  expect(runbook.status).toBe(200);
  expect(runbook.html).toContain(`<h3 id="${anchor}">The platform does not answer</h3>`);
  // Each link within it has its place.
  const ids = new Set([...runbook.html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  const links = [...runbook.html.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
  expect(links.filter((each) => !ids.has(each))).toEqual([]);
  expect(links.length).toBeGreaterThan(50);
});

it("a report comes as JSON lines, too", async () => {
  const { environment } = operator.world;
  const other = await operator.life.settled();
  const refresh = ["tokens", "refresh", other, "--json-lines"];
  const { code, stdout, stderr } = await kit(environment, refresh);
  expect([code, JSON.parse(stdout), stderr]).toEqual([
    0,
    { uuid: other, result: "done" },
    "1 refreshed, 0 failed, 0 skipped.\n",
  ]);
  expect((await kit(environment, [...refresh, "--watch"])).code).toBe(2);
  operator.control.removeWithoutDeprovision(other);
  const compared = await kit(environment, ["reconcile", "--json-lines"]);
  const lines = compared.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as object);
  expect([compared.code, lines]).toMatchObject([
    1,
    expect.arrayContaining([expect.objectContaining({ uuid: other, kind: "gone_at_platform" })]),
  ]);
  expect(compared.stderr).toMatch(/resources of ours compared, \d+ difference/);
});

describe("the causes of facts", () => {
  const facts = Object.entries(FACTS) as unknown as [string, Fact<unknown>][];
  const causing = facts.filter(([, { causes = [] }]) => causes.length > 0);

  it.each(causing)("of %s are facts, and it is not among its own", (id, { causes = [] }) => {
    for (const cause of causes) expect(Object.keys(FACTS)).toContain(cause);
    const reached = new Set<string>();
    const follow = (all: readonly string[]): void => {
      for (const each of all.filter((one) => !reached.has(one))) {
        reached.add(each);
        follow((FACTS[each as keyof typeof FACTS] as Fact<unknown>).causes ?? []);
      }
    };
    follow(causes);
    expect([...reached]).not.toContain(id);
  });
});
