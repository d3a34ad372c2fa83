import type { Context } from "../../../src/context.ts";
import { forEachResource, type Report } from "../../../src/operator/work-through.ts";
import { aWorld, opened } from "../../support/world.ts";
import { kit, kitJson } from "../../support/kit.ts";

const UNKNOWN = "01234567-89ab-cdef-0123-456789abcdef";

let uuids: string[];
/** The output of all commands in this file. */
const said: string[] = [];
// Without sweeps, so that only kit acts.
const world = opened(() => aWorld({ environment: { WEB_JOBS: "off" } }));
beforeAll(async () => {
  uuids = await world.installed(3);
});

const generations = () =>
  world.rows<{ generation: number }>(`SELECT generation FROM credentials ORDER BY uuid`);

async function run(...words: string[]) {
  const answer = await kitJson<Report>(world.environment, ["tokens", "refresh", ...words]);
  said.push(JSON.stringify(answer.data));
  return answer;
}

describe("kit tokens refresh", () => {
  it("refreshes the named resources, and says why others were not", async () => {
    await world.rows(`UPDATE credentials SET state = 'grant_lost' WHERE uuid = $1`, [uuids[1]]);
    const { code, data } = await run(uuids[0]!, uuids[1]!, UNKNOWN);
    expect(code).toBe(1);
    expect(data).toEqual({
      done: [uuids[0]],
      failed: [{ uuid: UNKNOWN, id: "not_found", message: expect.any(String) }],
      skipped: [{ uuid: uuids[1], reason: "grant_lost" }],
    });
    expect((await generations()).map(({ generation }) => generation)).toEqual([2, 1, 1]);
  });

  it("refreshes all working tokens with --all", async () => {
    const { code, data } = await run("--all");
    expect({ code, ...data, done: data.done.sort() }).toEqual({
      ...{ code: 0, done: [uuids[0], uuids[2]], failed: [] },
      skipped: [{ uuid: uuids[1], reason: "grant_lost" }],
    });
    await world.rows(`UPDATE credentials SET state = 'active' WHERE uuid = $1`, [uuids[1]]);
  });

  it("fails for a token that another process is refreshing", async () => {
    const hold = (time: string) =>
      world.rows(`UPDATE credentials SET leased_until = now() + $2::interval WHERE uuid = $1`, [
        uuids[0],
        time,
      ]);
    await hold("1 minute");
    const { code, data } = await run(uuids[0]!);
    expect({ code, ...data }).toMatchObject({ code: 1, done: [], skipped: [], failed: [{ id: "busy" }] });
    await hold("-1 second");
  });

  it("skips a working token that has no refresh token", async () => {
    const refreshToken = `SELECT sealed_refresh_token AS sealed FROM credentials WHERE uuid = $1`;
    const [before] = await world.rows<{ sealed: Buffer }>(refreshToken, [uuids[0]]);
    const put = (sealed: Buffer | null) =>
      world.rows(`UPDATE credentials SET sealed_refresh_token = $2 WHERE uuid = $1`, [uuids[0], sealed]);
    await put(null);
    const { data } = await run(uuids[0]!);
    expect(data.skipped).toEqual([{ uuid: uuids[0], reason: "no_refresh_token" }]);
    await put(before!.sealed);
  });
});

it.each([
  ["integrity", "kit tokens refresh UUID may bring fresh tokens"],
  ["key_missing", "kit doctor says which key is missing"],
])(
  "kit resources show says what to do, which depends on why a credential is quarantined: %s",
  async (reason, advice) => {
    await world.rows(`UPDATE credentials SET state = 'quarantined', reason = $2 WHERE uuid = $1`, [
      ...[uuids[1], reason],
    ]);
    expect((await kit(world.environment, ["resources", "show", uuids[1]!])).stdout).toContain(advice);
  },
);

it("one resource whose work throws has failed alone", async () => {
  const ctx = {
    config: { tokenConcurrency: 2 },
    db: { readWhole: async () => ["a", "b"].map((uuid) => ({ uuid })) },
  } as unknown as Context;
  const work = async ({ uuid }: { uuid: string }) => {
    if (uuid === "a") throw new Error("of this one");
    return null;
  };
  const { signal } = new AbortController();
  expect(await forEachResource(ctx, "all", work, { signal })).toEqual({
    ...{ done: ["b"], skipped: [] },
    failed: [{ uuid: "a", id: "internal_error", message: "of this one" }],
  });
});

it("the output of kit tokens contains no token and no secret", () => {
  const { ADDON_PASSWORD, CLIENT_SECRET, ENCRYPTION_KEY } = world.environment;
  for (const secret of [ADDON_PASSWORD, CLIENT_SECRET, ENCRYPTION_KEY, "SVCK-"])
    expect(said.join("\n")).not.toContain(secret);
});
