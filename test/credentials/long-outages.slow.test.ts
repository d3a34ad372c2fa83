import { jest } from "@jest/globals";
import type { FaultAction } from "../../packages/sandbox/index.ts";
import { ALL } from "../support/forged.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { opened } from "../support/world.ts";

// Minutes and hours of the platform's trouble. Rows are aged instead of waited for; from the start the test alone looks
// for due work.

const life = opened(async () => {
  const made = await aLifecycle({ environment: { WEB_JOBS: "off" }, parts: { pace: {} } });
  await made.world.service.services.jobs.stop();
  return made;
});
afterEach(async () => {
  life.control.clearFaults();
  life.control.settings({ acceptDelayMs: 0 });
  await life.world.forged.tokensAreDueIn(ALL, null);
});

const TOKENS = "POST /oauth/token";
const unavailable: FaultAction = { status: 503, body: { error: "temporarily_unavailable" } };
const calls = (since: number) => life.tokenCalls(since).length;

const lookFor = async (what: "exchanges" | "refreshes") => {
  const pool = life.world.service.services[what];
  await pool.fill(new AbortController().signal);
  await pool.settled();
};

/**
 * A grant's five minutes in jumps from one try to the next. `trouble` says what the platform does to a call, by the
 * seconds since the provision; answers when the tries were made, and how it ended.
 */
async function fiveMinutes(trouble: (second: number) => FaultAction | null) {
  const [uuid] = await life.install(1);
  const tries: number[] = [];
  for (;;) {
    const [row] = await life.world.forged.grantIsAtItsNextTry(uuid!);
    if (row!.state !== "grant_pending") return { state: row!.state, reason: row!.reason, tries };
    const action = trouble(row!.second);
    if (action) life.control.fault(TOKENS, action);
    const since = life.position();
    await lookFor("exchanges");
    // In the last moment of the five minutes the look may find that they are over.
    if (calls(since) > 0) tries.push(row!.second);
    life.control.clearFaults();
  }
}

describe("grants are exchanged after", () => {
  it("a token endpoint that is away for four minutes", async () => {
    const { state, tries } = await fiveMinutes((second) => (second < 240 ? unavailable : null));
    expect(state).toBe("active");
    expect(tries.filter((second) => second > 180 && second < 240).length).toBeGreaterThanOrEqual(3);
  });

  it("a Retry-After that is longer than the rest of the grant's life", async () => {
    const rest = { status: 429, headers: { "retry-after": "1000000000" } };
    expect(await fiveMinutes((second) => (second < 150 ? rest : null))).toMatchObject({ state: "active" });
  });
});

it("a grant that the platform never accepts is tried at most 15 times, until its last minute", async () => {
  life.control.settings({ acceptDelayMs: 3_600_000 });
  for (let grant = 0; grant < 5; grant++) {
    const since = life.position();
    const { state, reason, tries } = await fiveMinutes(() => null);
    expect({ state, reason }).toEqual({ state: "grant_lost", reason: "never_accepted" });
    expect(calls(since)).toBe(tries.length);
    expect(tries.length).toBeLessThanOrEqual(15);
    expect(tries.at(-1)).toBeGreaterThan(245);
  }
});

describe("a code whose first call had no answer", () => {
  /** Of the first call only, whenever that is made. */
  function once(action: FaultAction): () => FaultAction | null {
    const left = [action];
    return () => left.pop() ?? null;
  }

  it("is presented twice more if it is spent, the second time after half a minute; then the grant is lost, with its alarm", async () => {
    const since = life.position();
    const { state, reason, tries } = await fiveMinutes(once({ reset: "after" }));
    expect({ state, reason }).toEqual({ state: "grant_lost", reason: "outcome_unknown" });
    expect(calls(since)).toBe(3);
    expect(tries[1]).toBeLessThan(20);
    // The calls themselves take a moment, on a busy machine a second or more.
    expect(tries[2]).toBeGreaterThan(29.5);
    expect(tries[2]).toBeLessThan(45);
    expect(life.world.lines(`"alarm":"grant_lost"`, `"reason":"outcome_unknown"`)).toHaveLength(1);
  });

  it("is not given up for a platform that registers our answer only then", async () => {
    life.control.settings({ acceptDelayMs: 25_000 });
    const first = once({ reset: "after" });
    const { state, tries } = await fiveMinutes((second) => {
      if (second > 25) life.control.advanceClock(25);
      return first();
    });
    expect(state).toBe("active");
    expect(tries).toHaveLength(3);
  });

  it("is not given up for refusals that came before that call", async () => {
    life.control.settings({ acceptDelayMs: 60_000 });
    let lost = 0;
    const { state } = await fiveMinutes((second) => {
      // After the call whose answer is lost, the code is refused once more for being early.
      if (lost > 0 && second > 60) life.control.advanceClock(60);
      return second > 30 && (lost += 1) === 1 ? { reset: "after" } : null;
    });
    expect(state).toBe("active");
  });
});

/** Resources with tokens, of which none is due. */
async function active(count: number): Promise<string[]> {
  const uuids = await life.install(count);
  await life.makeDue(uuids);
  await lookFor("exchanges");
  expect(await states(uuids)).toEqual({ active: count });
  return uuids;
}

async function states(uuids: string[]): Promise<Record<string, number>> {
  const rows = await life.world.rows<{ state: string; count: number }>(
    `SELECT state, count(*)::int AS count FROM credentials WHERE uuid = ANY($1::uuid[]) GROUP BY state`,
    [uuids],
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

const age = (uuids: string[], by: string) => life.world.forged.tokensAged(uuids, by);

describe("tokens are refreshed after", () => {
  it("a token endpoint that is away for ten hours: few calls, none given up, all fresh within a minute", async () => {
    const uuids = await active(12);
    const now = performance.now.bind(performance);
    let later = 0;
    const clock = jest.spyOn(performance, "now").mockImplementation(() => now() + later);
    const minutes = async (many: number) => {
      for (let quarter = 0; quarter < many * 4; quarter++) {
        await lookFor("refreshes");
        await age(uuids, "15 seconds");
        later += 15_000;
      }
    };
    try {
      life.control.fault(TOKENS, unavailable, 10_000);
      const since = life.position();
      await life.makeDue(uuids);
      await minutes(20);
      expect(calls(since)).toBeLessThanOrEqual(uuids.length + 80);
      await age(uuids, "10 hours");
      await life.world.forged.tokensArePutOff(ALL, "10 hours");
      life.control.advanceClock(36_000);
      life.control.clearFaults();
      await minutes(1.25);
    } finally {
      clock.mockRestore();
    }
    await life.become(uuids, 2);
    const before = life.position();
    await life.expectAlive(uuids);
    expect(calls(before)).toBe(0);
  });

  it("the restore of yesterday's backup, and a day during which no process ran", async () => {
    const uuids = await active(10);
    const restored = await life.world.forged.credentialsAreBackedUp();
    await life.makeDue(uuids);
    await lookFor("refreshes");
    await restored();
    // Its access tokens have been replaced since; half of them are detected on use, half by the next sweep.
    await life.expectAlive(uuids.slice(0, 5));
    await age(uuids.slice(5), "24 hours");
    life.control.advanceClock(86_400);
    await lookFor("refreshes");
    expect(await states(uuids)).toEqual({ active: 10 });
    await life.expectAlive(uuids);
  });
});

describe("refused refresh tokens", () => {
  it("are given up one by one after three refusals over a day, and affect no other token", async () => {
    const uuids = await active(40);
    const revoked = uuids.slice(0, 3);
    for (const uuid of revoked) life.control.revoke(uuid, "refresh");
    await life.makeDue(uuids);
    for (const passes of ["62 seconds", "23 hours", "62 minutes"]) {
      await lookFor("refreshes");
      expect(await states(uuids)).toEqual({ active: 40 });
      await age(revoked, passes);
    }
    const since = life.position();
    await lookFor("refreshes");
    expect(calls(since)).toBe(3);
    expect(await states(uuids)).toEqual({ active: 37, needs_reauth: 3 });
    expect(life.world.logged()).toContain(`"alarm":"needs_reauth"`);
  });

  it("are not given up by two refusals and a failure of another kind", async () => {
    const [uuid] = await active(1);
    life.control.revoke(uuid!, "refresh");
    await life.makeDue([uuid!]);
    for (const [isRefused, passes] of [
      [false, "1 minute"],
      [true, "6 minutes"],
      [false, "25 hours"],
      [true, "1 hour"],
    ] as const) {
      if (!isRefused) life.control.fault(TOKENS, unavailable);
      await lookFor("refreshes");
      expect(await states([uuid!])).toEqual({ active: 1 });
      const [row] = await life.world.rows<{ seconds: number }>(
        `SELECT extract(epoch FROM due_at - now())::float8 AS seconds FROM credentials WHERE uuid = $1`,
        [uuid],
      );
      // Once it was refused, its tries are far apart.
      if (passes !== "1 minute") expect(row!.seconds).toBeGreaterThan(30);
      await age([uuid!], passes);
    }
    await lookFor("refreshes");
    expect(await states([uuid!])).toEqual({ needs_reauth: 1 });
  });

  it("are not given up by a wave, however many there are, and work again within an hour after it", async () => {
    await life.world.forged.nothingIsLeftOf("credentials");
    const uuids = await active(30);
    life.control.fault(TOKENS, { status: 400, body: { error: "invalid_grant" } }, 10_000);
    await life.makeDue(uuids);
    for (const passes of ["62 seconds", "11 minutes", "1 hour", "3 hours", "19 hours"]) {
      await lookFor("refreshes");
      expect(await states(uuids)).toEqual({ active: 30 });
      const [next] = await life.world.rows<{ seconds: number }>(
        `SELECT extract(epoch FROM max(due_at) - now())::float8 AS seconds FROM credentials`,
      );
      expect(next!.seconds).toBeLessThan(3_600 * 1.1);
      await age(uuids, passes);
    }
    life.control.clearFaults();
    await lookFor("refreshes");
    await life.expectAlive(uuids);
  });
});
