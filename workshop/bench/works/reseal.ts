import { ENCRYPTION_KEY, OTHER_KEY } from "../bench.ts";
import { checkTokens, Missing } from "../books.ts";
import { contest, type Sample } from "../contest.ts";
import { seedTokens } from "../seed.ts";
import type { Work } from "./work.ts";

/**
 * A key rotation with the operator's command, including its start, against Prisma row by row. Each round reseals
 * everything with the other key, and at the end every token is opened with the last key alone.
 */
export const reseal: Work = {
  name: "reseal",
  async measure(bench) {
    const { quick } = bench.options;
    const count = bench.rows(20_000, 200_000);
    const floorCount = bench.rows(500, 5_000);
    const [floorDatabase, database] = [await bench.databases.create(), await bench.databases.create()];
    await seedTokens(floorDatabase, floorCount);
    const uuids = await seedTokens(database, count);
    const keys = { floor: [OTHER_KEY, ENCRYPTION_KEY], subject: [OTHER_KEY, ENCRYPTION_KEY] };
    const settings = (who: "floor" | "subject") => {
      const [current, old] = keys[who];
      keys[who].reverse();
      return { ENCRYPTION_KEY: current!, DECRYPTION_KEYS: old! };
    };

    const floor = {
      round: () =>
        bench.runFloor<Sample>(
          "prisma-reseal",
          bench.settingsFor(floorDatabase, { ...settings("floor"), COUNT: String(floorCount) }),
        ),
    };
    const subject = {
      async round() {
        const startedAt = performance.now();
        const { resealed } = await bench.runKit<{ resealed: number }>(
          "keys reseal",
          bench.settingsFor(database, settings("subject")),
        );
        if (resealed < count) throw new Missing(`${resealed} of ${count} rows were resealed`);
        return { perSecond: count / ((performance.now() - startedAt) / 1_000) } as Sample;
      },
    };
    const outcome = await contest(floor, subject, quick ? 2 : 4);
    await checkTokens(database, uuids, 1, [keys.subject[1]!]);
    await Promise.all([database.drop(), floorDatabase.drop()]);
    return [
      {
        work: `re-seal ${count.toLocaleString("en")} rows, two tokens each`,
        unit: "rows/s",
        floor: { name: "Prisma row by row", value: outcome.floor.perSecond },
        subject: outcome.subject.perSecond,
        ratio: outcome.ratio,
        target: { atLeast: 20 },
      },
    ];
  },
};
