import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { connect, type Socket } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openDatabase, statement, type Database } from "../../src/database/database.ts";
import { anEmbeddedDatabase, type FreshDatabase } from "../support/database.ts";
import { aDatabaseProcess } from "../support/database-process.ts";

let fresh: FreshDatabase;
let database: Database;

beforeAll(async () => {
  fresh = await anEmbeddedDatabase();
  database = await openDatabase(fresh.settings);
});

afterAll(async () => {
  await database.close();
  await fresh.close();
});

const guestOf = ({ settings }: FreshDatabase) => ({ ...settings, role: "guest" as const });
const countOf = statement("count_of", `SELECT count(*) AS n FROM heartbeats WHERE name LIKE $1`);

test("20 concurrent clients with values of every size each get the answer to their own query", async () => {
  const clients = await Promise.all(Array.from({ length: 20 }, () => openDatabase(guestOf(fresh))));
  const short = statement("short", `SELECT $1::int AS i, length($2) AS size`);
  const long = statement("long", `SELECT $1::int AS i, $3::text AS t, length($2) AS size`);
  const answers = clients.flatMap((client, c) =>
    Array.from({ length: 15 }, async (_, n) => {
      const values = [c * 100 + n, "x".repeat(n % 2 ? 300_000 : 10)] as const;
      const rows = n % 3 ? client.query(short, values) : client.query(long, [...values, "t"]);
      expect(await rows).toMatchObject([{ i: values[0], size: values[1].length }]);
    }),
  );
  await Promise.all(answers);
  await Promise.all(clients.map((client) => client.close()));
});

test("transactions of several clients do not mix", async () => {
  const guests = await Promise.all([openDatabase(guestOf(fresh)), openDatabase(guestOf(fresh))]);
  const clients = [database, ...guests];
  await database.query(
    statement("a_counter", `INSERT INTO client_secrets (version, sealed_secret, hash) VALUES (0, '', '')`),
  );
  const read = statement("read_counter", `SELECT length(hash) AS n FROM client_secrets WHERE version = 0`);
  const write = statement("write_counter", `UPDATE client_secrets SET hash = $1 WHERE version = 0`);
  const addOne = (client: Database) =>
    client.transaction(async (tx) => {
      const [row] = await tx.query<{ n: number }>(read);
      await tx.query(write, [Buffer.alloc((row?.n ?? 0) + 1)]);
    });
  await Promise.all(Array.from({ length: 60 }, (_, i) => addOne(clients[i % 3] as Database)));
  expect(await database.query(read)).toEqual([{ n: 60 }]);
  await Promise.all(guests.map((guest) => guest.close()));
});

test("an error of one client does not affect the others", async () => {
  const insert = statement("insert_twice", `INSERT INTO heartbeats (name) VALUES ($1)`);
  const answers = await Promise.allSettled(
    Array.from({ length: 100 }, (_, i) => database.query(insert, [`twice ${i % 50}`])),
  );
  expect(answers.filter(({ status }) => status === "rejected")).toHaveLength(50);
  expect(await database.query(countOf, ["twice%"])).toEqual([{ n: 50 }]);
});

test("a large result arrives whole, and Prisma works beside it", async () => {
  const large = database.query<{ x: string }>(
    statement("large", `SELECT repeat('x', 1000) AS x FROM generate_series(1, 20000)`),
  );
  const prisma = await database.prisma();
  const [rows, heartbeat, resources] = await Promise.all([
    large,
    prisma.heartbeat.create({ data: { name: "by Prisma" } }),
    prisma.$transaction((tx) => tx.resource.findMany()),
  ]);
  expect(rows).toHaveLength(20_000);
  expect(heartbeat.at).toBeInstanceOf(Date);
  expect(resources).toEqual([]);
});

test("a client that is killed inside a transaction leaves nothing behind and blocks nobody", async () => {
  const command = await aDatabaseProcess(guestOf(fresh));
  await command.beginAndStay(`INSERT INTO heartbeats (name) VALUES ('half done') RETURNING name`);
  const waiting = database.query(countOf, ["half done"]);
  await sleep(200);
  command.signal("SIGKILL");
  expect(await waiting).toEqual([{ n: 0 }]);
  await command.close();
});

test("a client that stalls inside a transaction is disconnected after a few seconds", async () => {
  const command = await aDatabaseProcess(guestOf(fresh));
  await command.beginAndStay(`INSERT INTO heartbeats (name) VALUES ('asleep') RETURNING name`);
  command.signal("SIGSTOP");
  expect(await database.query(countOf, ["asleep"])).toEqual([{ n: 0 }]);
  command.signal("SIGCONT");
  await command.close();
});

test("a client that dies after half a message does not affect the next one", async () => {
  const socket = await aBareConnection(fresh);
  socket.write(Buffer.concat([message("P", "\0selec nonsense\0\0\0"), message("B", "\0")]));
  await sleep(50);
  socket.destroy();
  await database.ping();
});

/** A connection after its start-up messages, for sending raw messages. */
async function aBareConnection({ settings }: FreshDatabase): Promise<Socket> {
  const socket = connect(path.join(settings.dataDir, "postgresql", ".s.PGSQL.5432"));
  const startUp = Buffer.from("\0\0\0\0\0\x03\0\0user\0postgres\0\0");
  startUp.writeInt32BE(startUp.length);
  socket.write(startUp);
  await new Promise((resolve) => socket.once("data", resolve));
  return socket;
}

function message(type: string, body: string): Buffer {
  const bytes = Buffer.from(`${type}\0\0\0\0${body}`);
  bytes.writeInt32BE(bytes.length - 1, 1);
  return bytes;
}
