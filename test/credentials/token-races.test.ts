import { setTimeout as sleep } from "node:timers/promises";
import type { FaultAction } from "../../packages/sandbox/index.ts";
import type { Context } from "../../src/context.ts";
import { refreshNow } from "../../src/credentials/pools.ts";
import { storeTokens } from "../../src/credentials/store.ts";
import { tokensOf } from "../../src/credentials/token-source.ts";
import { openContext } from "../../src/open-context.ts";
import { Secret } from "../../src/secret.ts";
import { credentialSealContext } from "../../src/vault/vault.ts";
import { databaseError, interleavings, lost } from "../support/interleavings.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { eventually, opened } from "../support/world.ts";

// Races of the calls to the token endpoint, in the order that once lost something; and events between a call's answer and
// its database write.

const { moments, always, parts } = interleavings();
const life = opened(() => aLifecycle({ parts }));
afterEach(() => {
  moments.clear();
  life.control.settings({ refreshToken: "same" });
  life.control.clearFaults();
});

const TOKENS = "POST /oauth/token";
const NOT_YET = { status: 400, body: { error: "invalid_grant" } };
const UNAVAILABLE = { status: 503, body: { error: "temporarily_unavailable" } };
const ctx = () => life.world.service.services;
const install = async (plan = "basic") => (await life.control.install({ plan })).addon.id;
const exchanges = (uuid: string) => life.exchangesOf(life.requestFor(uuid).oauth_grant.code);
const logged = (words: string) => life.world.logged().match(new RegExp(words, "g")) ?? [];
/** No sweep finds it before the test is over. */
const untilTheEnd = (uuid: string) => life.world.forged.tokensAreDueIn(uuid, 3_600);

describe("while the answer to a refresh is on its way", () => {
  interface Case {
    what: string;
    refreshToken?: "same" | "new";
    fault?: FaultAction;
    meanwhile: (uuid: string) => Promise<unknown>;
    done: object;
    row: object;
    /** Calls to the token endpoint, those of the other process included. */
    calls?: number;
    /** Calls for tokens until the stored pair works; null: it has none. */
    until?: number | null;
  }
  const cases: Case[] = [
    {
      what: "another process replaced the pair: a refusal is ignored",
      fault: NOT_YET,
      meanwhile: (uuid) => life.world.forged.aNewerPairIsStoredByAnother(uuid),
      done: { done: "failed" },
      row: { state: "active", generation: 2, isRefused: false, attempts: 0 },
    },
    {
      what: "the resource is deprovisioned: nothing is stored",
      meanwhile: (uuid) => life.control.deprovision(uuid),
      done: { done: "not_ours" },
      row: { state: "erased", sealed: 0, dueIn: null },
      until: null,
    },
    {
      what: "another process stored a newer token: nothing is stored, and no further call is made",
      async meanwhile(uuid) {
        await life.world.forged.tokensAreDoneByAnother(uuid);
        expect((await refreshInAnotherProcess(uuid)).done).toBe("stored");
      },
      done: { done: "not_ours" },
      row: { state: "active", generation: 2 },
      calls: 2,
    },
    {
      what: "the lease is lost: the refresh token that replaces the stored one is stored",
      refreshToken: "new",
      async meanwhile(uuid) {
        await untilTheEnd(uuid);
        await life.world.forged.tokenLeaseIsOver(uuid);
        const refused = { done: "failed", failure: { outcome: "token_rejected" } };
        expect(await refreshInAnotherProcess(uuid)).toMatchObject(refused);
      },
      done: { done: "stored" },
      row: { state: "active", generation: 2 },
      calls: 2,
    },
    {
      what: "a newer pair is stored: one with another refresh token is not",
      refreshToken: "new",
      meanwhile: (uuid) => life.world.forged.aNewerPairIsStoredByAnother(uuid),
      done: { done: "not_ours" },
      row: { state: "active", generation: 2 },
      until: null,
    },
    {
      what: "a process without the key quarantines the row: the new refresh token is stored",
      refreshToken: "new",
      async meanwhile(uuid) {
        await life.world.forged.tokensAre("quarantined", uuid);
        await life.world.forged.tokenLeaseIsGivenBack(uuid);
      },
      done: { done: "stored" },
      row: { state: "active", generation: 2 },
    },
  ];

  it.each(cases)("$what", async ({ refreshToken, fault, meanwhile, done, row, calls = 1, until = 0 }) => {
    const uuid = await life.settled();
    if (refreshToken) life.control.settings({ refreshToken });
    if (fault) life.control.fault(TOKENS, fault);
    moments.set("answered refresh", () => meanwhile(uuid));
    const since = life.position();
    expect(await refreshNow(ctx(), uuid)).toMatchObject(done);
    expect(await life.row(uuid)).toMatchObject(row);
    if (until === null) return;
    await life.expectAlive([uuid]);
    expect(life.tokenCalls(since)).toHaveLength(calls + until);
    if (!fault) expect(await refreshNow(ctx(), uuid)).toMatchObject({ done: "stored" });
  });

  const refreshInAnotherProcess = (uuid: string) => inAnotherProcess((other) => refreshNow(other, uuid));
});

async function inAnotherProcess<Result>(work: (other: Context) => Promise<Result>): Promise<Result> {
  const settings = teapotConfig(life.world.environment);
  const other = await openContext(settings, { ...teapotParts, logTo: { write: () => undefined } });
  return work(other).finally(other.close);
}

describe("tokens that are to be stored", () => {
  it.each([
    ["a locked row", databaseError("55P03"), 1],
    ["a disk that cannot be read", databaseError("58030"), 3],
  ])("wait for %s, and are not lost", async (_, error, times) => {
    let failed = 0;
    const works = always("before store_tokens", () => ((failed += 1), Promise.reject(error)));
    const uuid = await install();
    await eventually(() => expect(failed).toBeGreaterThanOrEqual(times));
    works();
    await life.becomes(uuid, { state: "active" });
    expect(exchanges(uuid)).toHaveLength(1);
    await life.expectAlive([uuid]);
    const alarms = logged(
      `"uuid":"${uuid}","requestId":"[^"]+","error":{[^\n]*"msg":"Issued tokens cannot be stored; this process alone has them`,
    );
    expect(alarms).toHaveLength(times > 1 ? 1 : 0);
  });

  it.each<[string, "same" | "new"]>([
    ["exchange", "new"],
    ["refresh", "new"],
    ["refresh", "same"],
  ])(
    "after the end of the lease too, without another %s; a refresh token: %s",
    async (call, refreshToken) => {
      const isRefresh = call === "refresh";
      const pair = isRefresh ? await life.settled() : null;
      life.control.settings({ refreshToken });
      let failed = 0;
      const works = always("before store_tokens", () => ((failed += 1), lost()));
      const since = life.position();
      const uuid = pair ?? (await install());
      const refreshed = isRefresh && refreshNow(ctx(), uuid);
      await eventually(() => expect(failed).toBeGreaterThan(0));
      await untilTheEnd(uuid);
      await life.world.forged.tokenLeaseIsGivenBack(uuid);
      await life.makeDue([uuid]);
      ctx().jobs.wake(isRefresh ? "refresh-tokens" : "exchange-grants");
      await life.becomes(uuid, { isLeased: true });
      works();
      await refreshed;
      await life.becomes(uuid, { state: "active", isLeased: false });
      expect(life.tokenCalls(since)).toHaveLength(1);
      await life.expectAlive([uuid]);
    },
  );

  it.each(["this process", "another one"])(
    "after the grant's five minutes too, though %s has claimed it to end it",
    async (which) => {
      let failed = 0;
      const works = always("before store_tokens", () => ((failed += 1), lost()));
      const uuid = await install("dedicated");
      await eventually(() => expect(failed).toBeGreaterThan(0));
      await life.ageGrant(uuid);
      const free = () => life.world.forged.tokenLeaseIsGivenBack(uuid);
      if (which === "this process") {
        await free();
        await life.becomes(uuid, { isLeased: true });
      } else
        await inAnotherProcess(({ exchanges }) =>
          eventually(async () => {
            await free();
            await exchanges.fill(new AbortController().signal);
            expect(await life.row(uuid)).toMatchObject({ state: "grant_lost", reason: "outcome_unknown" });
          }),
        );
      // A tick comes each second, which fails the provisions whose grant is lost.
      await sleep(1_500);
      works();
      await life.becomes(uuid, { state: "active" });
      await life.resourceBecomes(uuid, { state: "provisioned" });
    },
  );

  it("are not requested by a process whose lease was lost before its call", async () => {
    moments.set("before mark_sent", () => life.world.forged.grantsAreTakenByAnother());
    const uuid = await install();
    await eventually(() => expect(moments.size).toBe(0));
    await sleep(300);
    expect(exchanges(uuid)).toHaveLength(0);
    await life.world.forged.tokenLeaseIsGivenBack(uuid);
    await life.becomes(uuid, { state: "active" });
    expect(exchanges(uuid)).toHaveLength(1);
  });

  it("win over an older answer that arrives at the same moment", async () => {
    const uuid = await life.settled();
    const { db, vault } = ctx();
    // Two claims: the first one's answer is the older.
    await life.world.forged.tokensAreTakenByAnother(uuid);
    const [row] = await life.world.forged.tokensAreTakenByAnother(uuid);
    const { lease, generation } = row!;
    const pair = (by: number, token: string) => ({
      ...{ uuid, lease: by, first: false, generation, replaces: generation },
      ...{ lifeSeconds: 28_800, share: 0.5, secretVersion: 1, flags: "" },
      access: vault.seal(credentialSealContext("sealed_access_token", uuid), new Secret(`SVCK-${token}`)),
      refresh: vault.seal(credentialSealContext("sealed_refresh_token", uuid), new Secret(token)),
    });
    const late = storeTokens(db, pair(lease - 1, "late"));
    const ours = storeTokens(db, pair(lease, "ours"));
    expect(await Promise.all([late, ours])).toEqual([false, true]);
    const stored = await tokensOf(ctx(), uuid).current();
    expect(stored.reveal()).toBe("SVCK-ours");
  });

  it("are reported as fresh to the callers when the acknowledgement of a refresh's is lost", async () => {
    const uuid = await life.settled();
    moments.set("unheard store_tokens", () => Promise.resolve());
    expect(await refreshNow(ctx(), uuid)).toMatchObject({ done: "stored" });
    expect(await life.row(uuid)).toMatchObject({ state: "active", generation: 2 });
  });
});

describe("grant exchange, interrupted between the platform's answer and the database write", () => {
  it("retries a refused code soon when the database was away, and does not record an unknown outcome", async () => {
    life.control.fault(TOKENS, NOT_YET, 1_000);
    moments.set("before settle_credential", lost);
    const uuid = await install();
    const { attempts } = await life.becomes(uuid, {
      isLeased: false,
      isUnknown: false,
      lastError: expect.any(String),
    });
    expect(attempts).toBeGreaterThan(0);
    life.control.clearFaults();
    await life.becomes(uuid, { state: "active" });
  });

  it("keeps the mark of an unknown outcome when a new code is delivered during the call", async () => {
    life.control.fault(TOKENS, { reset: "after" });
    moments.set("answered exchange", () => {
      life.control.fault(TOKENS, UNAVAILABLE, 1_000);
      return life.control.redeliver(life.control.state().addons.at(-1)!.id, { newCode: true });
    });
    const uuid = await install();
    await eventually(async () => expect((await life.row(uuid)).attempts).toBeGreaterThan(0));
    expect(await life.row(uuid)).toMatchObject({ state: "grant_pending", isUnknown: true });
    life.control.clearFaults();
    await life.becomes(uuid, { state: "active", isUnknown: false });
  });
});

describe("what is stored after a call, and whose acknowledgement is lost,", () => {
  const alarms = (alarm: string, uuid: string) => logged(`"alarm":"${alarm}","uuid":"${uuid}"`);

  it("raises its alarm once: a grant is lost", async () => {
    life.control.fault(TOKENS, NOT_YET, 1_000);
    const uuid = await install();
    await life.becomes(uuid, { isRefused: true, isLeased: false });
    await life.ageGrant(uuid);
    moments.set("unheard settle_credential", () => Promise.resolve());
    await life.becomes(uuid, { state: "grant_lost" });
    await eventually(() => expect(alarms("grant_lost", uuid)).toHaveLength(1));
  });

  it("raises its alarm once: a credential is quarantined", async () => {
    const uuid = await life.settled();
    await life.damage(uuid, "sealed_refresh_token");
    moments.set("unheard settle_credential", () => Promise.resolve());
    expect(await refreshNow(ctx(), uuid)).toEqual({ done: "quarantined" });
    expect(alarms("quarantined", uuid)).toHaveLength(1);
  });

  it("leaves no lease and no unknown outcome behind: the client secret is rejected", async () => {
    life.control.fault(TOKENS, { status: 401, body: { error: "invalid_client" } });
    moments.set("unheard reject_client_secret", () => Promise.resolve());
    const uuid = await install();
    await eventually(() => expect(logged(`"alarm":"client_secret_rejected"`)).toHaveLength(1));
    await life.becomes(uuid, { isLeased: false, isUnknown: false });
    moments.set("before take_secret_probe", lost);
    await life.world.forged.secretMayBeTried();
    await eventually(() => expect(moments.size).toBe(0));
    await life.becomes(uuid, { state: "active" });
  });
});

it("a refresh for which the client secret cannot be read leaves no lease behind", async () => {
  const uuid = await life.settled();
  const { secrets } = ctx().credentials;
  const { current } = secrets;
  secrets.current = lost;
  await expect(refreshNow(ctx(), uuid)).rejects.toThrow();
  secrets.current = current;
  expect(await life.row(uuid)).toMatchObject({ state: "active", isLeased: false });
});

it("a grant without a refresh token raises an alarm, and its access token is kept", async () => {
  const body = { access_token: "SVCK-alone", expires_in: 28_800, token_type: "Bearer" };
  life.control.fault(TOKENS, { status: 200, body });
  const uuid = await install();
  await life.becomes(uuid, { state: "active" });
  expect(logged(`"alarm":"no_refresh_token","uuid":"${uuid}"`)).toHaveLength(1);
  expect((await tokensOf(ctx(), uuid).current()).reveal()).toBe("SVCK-alone");
});

it("a fresh token pair is not quarantined because the previous one could not be decrypted", async () => {
  const uuid = await life.settled();
  await life.damage(uuid, "sealed_access_token");
  moments.set("before settle_credential", () => refreshNow(ctx(), uuid));
  await life.expectAlive([uuid]);
  expect(await life.row(uuid)).toMatchObject({ state: "active", generation: 2 });
});
