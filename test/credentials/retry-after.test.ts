import { beforeEach, expect, it } from "@jest/globals";
import { aWorld, eventually, opened } from "../support/world.ts";

const world = opened(() => aWorld({ environment: { SWEEP_CRON: "* * * * * *" } }));
// A Retry-After delays every refresh of a process, so each case has a process of its own.
beforeEach(async () => {
  await world.rows(`UPDATE credentials SET due_at = now() + interval '1 hour'`);
  await world.restart();
});

async function active(): Promise<string> {
  const { addon } = await world.sandbox.control.install({ plan: "basic" });
  await eventually(async () => {
    const [row] = await world.rows(`SELECT state FROM credentials WHERE uuid = $1`, [addon.id]);
    expect(row).toEqual({ state: "active" });
  });
  return addon.id;
}

it.each<[string, () => string | undefined, { least: number; most: number }]>([
  ["in seconds", () => "600", { least: 560, most: 601 }],
  ["that is absent", () => undefined, { least: 0, most: 60 }],
  ["of a billion seconds", () => "1000000000", { least: 860, most: 901 }],
])(
  "a 429 with a Retry-After %s delays refreshes for as long as it says, and no grant",
  async (_, wish, { least, most }) => {
    const [uuid, other] = [await active(), await active()];
    const after = wish();
    const headers = after === undefined ? {} : { "retry-after": after };
    world.sandbox.control.fault("POST /oauth/token", { status: 429, headers });
    await world.rows(`UPDATE credentials SET due_at = now() WHERE uuid = $1`, [uuid]);
    const put = await eventually(async () => {
      const [row] = await world.rows<{ inSeconds: number; state: string; generation: number }>(
        `SELECT extract(epoch FROM due_at - now())::float8 AS "inSeconds", state, generation FROM credentials
       WHERE uuid = $1 AND attempts = 1 AND leased_until IS NULL`,
        [uuid],
      );
      return row ?? null;
    });
    expect(put).toMatchObject({ state: "active", generation: 1 });
    expect(put.inSeconds).toBeGreaterThan(least);
    expect(put.inSeconds).toBeLessThan(most);
    // Grants have only minutes: they are exchanged, and existing tokens keep working.
    await active();
    expect((await world.service.services.platformFor(other).addons.own()).id).toBe(other);
  },
  60_000,
);
