import { beforeEach, expect, it } from "@jest/globals";
import type { Database } from "../../src/database/database.ts";
import { createLog } from "../../src/logging/log.ts";
import { createScrubber } from "../../src/logging/scrubber.ts";
import { createRightsWatch, type RightsWatch } from "../../src/process/rights-watch.ts";

// What a lack of rights leads to. test/database/roles.test.ts finds real ones, on PostgreSQL.

const missing = (names: string) => [
  { privileges: "INSERT", kind: "", names, owner: "owner", role: "service", stopsProvisions: false },
];

let answer: () => Promise<unknown[]>;
let looks: number;
let lines: string[];
let watch: RightsWatch;
const watchOf = (kind: Database["kind"]) => {
  const query = () => ((looks += 1), answer());
  const log = createLog("info", createScrubber(""), { write: (line) => void lines.push(line) });
  return createRightsWatch({ kind, query } as unknown as Database, log);
};
beforeEach(() => {
  [answer, looks, lines] = [() => Promise.resolve([]), 0, []];
  watch = watchOf("postgresql");
});

it("a lack raises one alarm, however often the start is tried, and another lack another", async () => {
  for (const names of ["events", "events", "people"]) {
    answer = () => Promise.resolve(missing(names));
    await watch.check();
  }
  const alarms = lines.map((line) => JSON.parse(line) as Record<string, string>);
  expect(alarms).toMatchObject([
    { alarm: "rights_missing", owner: "owner", grants: "GRANT INSERT ON events TO service;" },
    { alarm: "rights_missing", msg: "The role service lacks INSERT on people." },
  ]);
});

it("readiness asks the database only while something is missing, and once for all who ask together", async () => {
  await watch.check();
  expect([await watch.lack(), looks]).toEqual([null, 1]);
  answer = () => Promise.resolve(missing("events"));
  await watch.check();
  await Promise.all([watch.lack(), watch.lack(), watch.lack()]);
  expect(looks).toBe(3);
  answer = () => Promise.resolve([]);
  expect([await watch.lack(), await watch.lack(), looks]).toEqual([null, null, 4]);
});

it.each([
  ["fails", () => Promise.reject(new Error("permission denied for table pg_class"))],
  ["hangs", () => new Promise<never>(() => undefined)],
])("the last look counts if the next one %s", async (_, next) => {
  answer = () => Promise.resolve(missing("events"));
  await watch.check();
  answer = next;
  expect(await watch.lack()).toMatchObject({ message: "The role service lacks INSERT on events." });
});

it("a start goes on where the rights cannot be looked at; it says so, unless the database is away", async () => {
  answer = () =>
    Promise.reject(
      Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED", syscall: "connect" }),
    );
  await watch.check();
  expect(lines).toEqual([]);
  answer = () => Promise.reject(new Error("function has_sequence_privilege does not exist"));
  await watch.check();
  expect(lines.join("")).toContain("could not be checked");
});

it("a start does not go on where a pooler makes statements clash", async () => {
  const clash = Object.assign(new Error("prepared statement already exists"), {
    code: "42P05",
    severity: "ERROR",
  });
  answer = () => Promise.reject(clash);
  await expect(watch.check()).rejects.toBe(clash);
});

it("the embedded database is not asked", async () => {
  await watchOf("embedded").check();
  expect(looks).toBe(0);
});
