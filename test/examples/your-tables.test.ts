import { randomUUID } from "node:crypto";
import path from "node:path";
import { migrate } from "../../src/database/migrate.ts";
import type { Kit } from "../../src/extend/contract.ts";
import { aVendor } from "../support/a-vendor.ts";
import { aWorld, opened } from "../support/world.ts";

// The typed client of a vendor's own models, with those of the example.

let kit: Kit;
const world = opened(() => aWorld({ parts: { vendor: (given) => ((kit = given), aVendor()) } }));
const tables = () =>
  kit.database.prisma(() => import("../../examples/message-queue/your-service/client/client.ts"));
beforeAll(async () => {
  const yours = path.resolve("examples/message-queue/your-service/migrations");
  await migrate({ url: world.environment["DATABASE_URL"]!, yours });
});

const DAY = new Date("2026-01-31");

it("reads and writes the tables in yours, and one transaction writes all or nothing", async () => {
  const { usage } = await tables();
  const uuid = randomUUID();
  await usage.create({ data: { uuid, day: DAY, messages: 7n } });
  expect(await world.rows(`SELECT day::text, messages FROM yours.usage WHERE uuid = $1`, [uuid])).toEqual([
    { day: "2026-01-31", messages: 7 },
  ]);
  const other = randomUUID();
  const rows = [other, other].map((uuid) => usage.create({ data: { uuid, day: DAY, messages: 1n } }));
  await expect((await tables()).$transaction(rows)).rejects.toMatchObject({ code: "P2002" });
  expect(await usage.findMany({ where: { uuid: { in: [uuid, other] } } })).toEqual([
    { uuid, day: DAY, messages: 7n },
  ]);
});

it("is one for the process, on the connections of the service", async () => {
  const before = await tables();
  expect(await tables()).toBe(before);
  const asked = Array.from(
    { length: 50 },
    () =>
      before.$queryRaw<{ pid: number; name: string }[]>`
      SELECT pg_backend_pid() AS pid, current_setting('application_name') AS name FROM pg_sleep(0.02)`,
  );
  const answers = (await Promise.all(asked)).flat();
  expect(new Set(answers.map(({ name }) => name))).toEqual(new Set(["addon-service"]));
  const { databasePool } = world.service.services.config;
  expect(new Set(answers.map(({ pid }) => pid)).size).toBeLessThanOrEqual(databasePool);
});

it("knows the vendor's models alone, and their columns: anything else does not compile", async () => {
  const client = await tables();
  // @ts-expect-error The kit's tables are none of the vendor's models.
  expect(client.resource).toBeUndefined();
  // @ts-expect-error A column that the model does not have.
  await expect(client.usage.findMany({ where: { colour: "red" } })).rejects.toThrow("colour");
  // @ts-expect-error A column that was forgotten.
  await expect(client.usage.create({ data: { uuid: randomUUID(), day: DAY } })).rejects.toThrow("messages");
});
