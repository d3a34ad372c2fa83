import { describe, expect, it } from "@jest/globals";
import {
  isConflict,
  isConnectionConfigError,
  isDataError,
  isTransient,
  openDatabase,
  statement,
} from "../../src/database/database.ts";
import { anOpenDatabase } from "../support/open-database.ts";

// An error at connecting is worth another try, whatever it is: test/database/database.test.ts has real ones.

const words = (message: string) => new Error(message);
const postgresql = (code: string, routine = "") =>
  Object.assign(words(""), { code, severity: "ERROR", routine });
const node = (code: string, syscall = "read") => Object.assign(words(code), { code, syscall });
const prisma = (code: string, originalCode?: string, message = "") =>
  Object.assign(words(message), { code, meta: { driverAdapterError: { cause: { originalCode } } } });

it.each<[string, unknown]>([
  ["the connection was lost", postgresql("08006")],
  ["too many connections", postgresql("53300")],
  ["the disk is full", postgresql("53100")],
  ["a deadlock", postgresql("40P01")],
  ["a serialization failure", postgresql("40001")],
  ["an administrator ended the session", postgresql("57P01")],
  ["the server crashed", postgresql("57P02")],
  ["the server is starting", postgresql("57P03")],
  ["the statement was cancelled at its time limit", postgresql("57014")],
  ["a failover left us on a read-only server", postgresql("25006")],
  ["a row lock held by another for too long", postgresql("55P03")],
  [
    "the schema changed under a named statement, in any language",
    postgresql("0A000", "RevalidateCachedQuery"),
  ],
  ["the connection was reset", node("ECONNRESET")],
  ["the connection was aborted", node("ECONNABORTED")],
  ["the network is silent", node("ETIMEDOUT")],
  ["TLS broke off", node("EPROTO", "write")],
  ["the driver lost the connection", words("Connection terminated unexpectedly")],
  ["the answer did not come in time", words("Query read timeout")],
  ["the connection is broken", words("Client has encountered a connection error and is not queryable")],
  ["Prisma: cannot reach the server", prisma("P1001")],
  ["Prisma: the server closed the connection", prisma("P1017")],
  ["Prisma: no connection from the pool", prisma("P2024")],
  ["Prisma: no transaction to be had in time", prisma("P2028")],
  ["Prisma: a conflict", prisma("P2034")],
  ["Prisma: too many connections", prisma("P2037")],
  ["Prisma: read-only", prisma("P2039", "25006")],
  ["Prisma: a raw query met a restart", prisma("P2010", "57P01")],
])("is worth another try: %s", (_, error) => {
  expect([isTransient(error), isDataError(error), isConnectionConfigError(error)]).toEqual([
    true,
    false,
    false,
  ]);
});

it.each<[string, unknown]>([
  ["a syntax error", postgresql("42601")],
  ["a table that is not there", postgresql("42P01")],
  ["a feature PostgreSQL does not have", postgresql("0A000")],
  ["an exception of a trigger's own", postgresql("P0001")],
  ["Prisma: a key that is taken", prisma("P2002")],
  ["a file that is not there", node("ENOENT", "open")],
  ["a mistake of ours", new TypeError("x is not a function")],
  ["something that is no error at all", "terminated"],
])("is not worth another try: %s", (_, error) => {
  expect([isTransient(error), isDataError(error), isConnectionConfigError(error)]).toEqual([
    false,
    false,
    false,
  ]);
});

it.each<[string, unknown]>([
  ["another password", postgresql("28P01")],
  ["a database that is not there", postgresql("3D000")],
  ["a right that is missing", postgresql("42501")],
  ["a certificate of another CA", node("UNABLE_TO_VERIFY_LEAF_SIGNATURE", "")],
  ["a certificate that has run out", node("CERT_HAS_EXPIRED", "")],
  ["a certificate for another name", node("ERR_TLS_CERT_ALTNAME_INVALID", "")],
  ["a server without TLS", words("The server does not support SSL connections")],
  ["a pooler whose clients share a session", postgresql("42P05")],
])("ends a start, because an operator must change something first: %s", (_, error) => {
  expect([isTransient(error), isConnectionConfigError(error)]).toEqual([false, true]);
});

describe("errors as the drivers really raise them", () => {
  const opened = anOpenDatabase();

  it.each([
    ["57P01", { isTransient: true, isConflict: false, isDataError: false }],
    ["25006", { isTransient: true, isConflict: false, isDataError: false }],
    ["53100", { isTransient: true, isConflict: false, isDataError: false }],
    ["40P01", { isTransient: true, isConflict: true, isDataError: false }],
    ["40001", { isTransient: true, isConflict: true, isDataError: false }],
    ["22021", { isTransient: false, isConflict: false, isDataError: true }],
    ["23505", { isTransient: false, isConflict: false, isDataError: true }],
    ["54000", { isTransient: false, isConflict: false, isDataError: true }],
  ])("%s is %j, from either", async (state, expected) => {
    const text = `DO $$ BEGIN RAISE EXCEPTION 'raised' USING ERRCODE = '${state}'; END $$`;
    const client = await opened.database.prisma();
    for (const error of [
      await opened.database.query(statement(`raise_${state}`, text)).catch((thrown: unknown) => thrown),
      await client.$executeRawUnsafe(text).catch((thrown: unknown) => thrown),
    ])
      expect({
        isTransient: isTransient(error),
        isConflict: isConflict(error),
        isDataError: isDataError(error),
      }).toEqual(expected);
  });

  it("a server that is not there is worth another try", async () => {
    const nowhere = openDatabase({ ...opened.settings, url: "postgresql://nobody@127.0.0.1:1/nothing" });
    const client = await nowhere.prisma();
    const errors = [
      await nowhere.ping().catch((error: unknown) => error),
      await client.heartbeat.count().catch((error: unknown) => error),
    ];
    expect(errors.map(isTransient)).toEqual([true, true]);
    await nowhere.close();
  });
});
