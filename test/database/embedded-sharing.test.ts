import { afterEach, expect, test } from "@jest/globals";
import { mkdir, stat } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openDatabase, statement, retryWhileDatabaseAway } from "../../src/database/database.ts";
import { openEmbedded } from "../../src/database/embedded/embedded.ts";
import { Misconfigured } from "../../src/errors.ts";
import { anEmbeddedDatabase } from "../support/database.ts";
import { aDatabaseProcess } from "../support/database-process.ts";

const toClose: (() => Promise<void>)[] = [];
const closing = <T extends { close(): Promise<void> }>(opened: T): T => {
  toClose.push(() => opened.close());
  return opened;
};

afterEach(async () => {
  for (const close of toClose.splice(0).reverse()) await close();
});

const COUNT = `SELECT count(*) AS n FROM heartbeats`;
const INSERT = `INSERT INTO heartbeats (name) VALUES ($1)`;
const insert = statement("insert_heartbeat", INSERT);
const count = statement("count_heartbeats", COUNT);

test("commands in other processes work beside the running service, and no write is lost", async () => {
  const { settings } = closing(await anEmbeddedDatabase());
  const web = closing(await openDatabase(settings));
  const guest = { ...settings, role: "guest" as const };
  const [one, other] = await Promise.all([aDatabaseProcess(guest), aDatabaseProcess(guest)]);
  [one, other].forEach(closing);
  const writing = Array.from({ length: 100 }, (_, i) => [
    web.query(insert, [`web ${i}`]),
    one.query(INSERT, [`one ${i}`]),
    other.query(INSERT, [`other ${i}`]),
  ]);
  await Promise.all(writing.flat());
  expect(await one.query(COUNT)).toEqual([{ n: 300 }]);
});

test("a command opens the embedded database itself when no service runs, and a service that starts waits for it", async () => {
  const { settings } = closing(await anEmbeddedDatabase());
  const command = closing(await aDatabaseProcess({ ...settings, role: "guest" }));
  await command.query(INSERT, ["by the command"]);
  const opening = openDatabase(settings);
  await sleep(300);
  await command.close();
  const web = closing(await opening);
  expect(await web.query(count)).toEqual([{ n: 1 }]);
});

test("when the process that owns the embedded database exits, a guest takes over", async () => {
  const { settings } = closing(await anEmbeddedDatabase());
  const owner = closing(await aDatabaseProcess(settings));
  const guest = closing(await openDatabase({ ...settings, role: "guest" }));
  await owner.query(INSERT, ["by the owner"]);
  await guest.ping();
  await owner.close();
  expect(await retryWhileDatabaseAway(() => guest.query(count))).toEqual([{ n: 1 }]);
});

test("when the owner is killed while it writes, everything it confirmed is kept and another process can take over at once", async () => {
  const { settings } = closing(await anEmbeddedDatabase());
  const owner = closing(await aDatabaseProcess(settings));
  const confirmed: string[] = [];
  const writing = Array.from({ length: 2000 }, (_, i) =>
    owner.query(INSERT, [`row ${i}`]).then(
      () => confirmed.push(`row ${i}`),
      () => undefined,
    ),
  );
  while (confirmed.length < 200) await sleep(5);
  owner.signal("SIGKILL");
  await Promise.all(writing);
  // Without a wait for ownership.
  await (await openEmbedded({ ...settings, log: { warn: () => undefined }, waitMs: 0 })).close();
  const next = closing(await openDatabase(settings));
  const rows = await next.query<{ name: string }>(statement("all_heartbeats", `SELECT name FROM heartbeats`));
  const names = new Set(rows.map(({ name }) => name));
  expect(confirmed.filter((name) => !names.has(name))).toEqual([]);
});

test("a second service on the same folder is refused, even while the first is suspended", async () => {
  const { settings } = closing(await anEmbeddedDatabase());
  const owner = closing(await aDatabaseProcess(settings));
  owner.signal("SIGSTOP");
  const second = openEmbedded({ ...settings, log: { warn: () => undefined }, waitMs: 1000 });
  const refusal = (await second.catch((error: unknown) => error)) as Error;
  expect(refusal).toBeInstanceOf(Misconfigured);
  expect(refusal.message).toContain("is open in another service, or in a kit command");
  owner.signal("SIGCONT");
});

test("of many processes that start at once, one becomes the owner and the others its guests", async () => {
  const { settings } = closing(await anEmbeddedDatabase());
  const crowd = await Promise.all(
    Array.from({ length: 6 }, () => openDatabase({ ...settings, role: "guest" })),
  );
  crowd.forEach(closing);
  await Promise.all(crowd.map((one, i) => one.query(insert, [`one ${i}`])));
  expect(await crowd[0]?.query(count)).toEqual([{ n: 6 }]);
});

test("only the folder's owner can read it, and its path may be long", async () => {
  const { settings } = closing(await anEmbeddedDatabase());
  const dataDir = path.join(settings.dataDir, "a-rather-long-name".repeat(6), "and-another-one".repeat(6));
  await mkdir(dataDir, { recursive: true });
  closing(await openDatabase({ ...settings, dataDir }));
  const command = closing(await openDatabase({ ...settings, dataDir, role: "guest" }));
  await command.query(insert, ["far away"]);
  expect((await stat(path.join(dataDir, "postgresql"))).mode & 0o777).toBe(0o700);
});
