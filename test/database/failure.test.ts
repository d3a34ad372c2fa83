// Again on PostgreSQL: the server's own errors tell what may pass.

import { describe, expect, it, test } from "@jest/globals";
import {
  isConflict,
  isConnectionConfigError,
  isDataError,
  isTransient,
  openDatabase,
  statement,
} from "../../src/database/database.ts";
import { anOpenDatabase } from "../support/open-database.ts";

const fromPostgresql = (code: string, message = "") =>
  Object.assign(new Error(message), { code, severity: "ERROR" });
/** The error of a server that ends the connection. */
const refused = (code: string) => Object.assign(new Error(), { code, severity: "FATAL" });
const fromNode = (code: string, syscall = "connect") => Object.assign(new Error(code), { code, syscall });
const fromPrisma = (code: string, originalCode?: string, message = "") =>
  Object.assign(new Error(message), { code, meta: { driverAdapterError: { cause: { originalCode } } } });

it.each<[string, Error, boolean]>([
  ["the server cannot begin TLS now", new Error("There was an error establishing an SSL connection"), false],
  ["TLS broke off", fromNode("EPROTO", "write"), false],
  ["the certificate has run out", fromNode("CERT_HAS_EXPIRED"), true],
  ["the password is another", refused("28P01"), true],
])(
  "is transient while the service runs, and a start waits only if waiting may help: %s",
  (_, error, isOfAddress) => {
    expect([isTransient(error), isConnectionConfigError(error)]).toEqual([true, isOfAddress]);
  },
);

describe("isTransient is true for", () => {
  test.each<[string, Error]>([
    ["the connection was lost", fromPostgresql("08006")],
    ["too many connections", fromPostgresql("53300")],
    ["the disk is full", fromPostgresql("53100")],
    ["a deadlock", fromPostgresql("40P01")],
    ["a serialization failure", fromPostgresql("40001")],
    ["an administrator ended the session", fromPostgresql("57P01")],
    ["the server crashed", fromPostgresql("57P02")],
    ["the server is starting", fromPostgresql("57P03")],
    ["the statement was cancelled at its time limit", fromPostgresql("57014")],
    ["a failover left us on a read-only server", fromPostgresql("25006")],
    [
      "the schema changed under a prepared statement",
      fromPostgresql("0A000", "cached plan must not change result type"),
    ],
    ["nobody listens", fromNode("ECONNREFUSED")],
    ["the connection was reset", fromNode("ECONNRESET", "read")],
    ["the network is silent", fromNode("ETIMEDOUT")],
    ["the name cannot be resolved just now", fromNode("EAI_AGAIN", "getaddrinfo")],
    ["the resolver fails", fromNode("EAI_FAIL", "getaddrinfo")],
    ["the network is down", fromNode("ENETDOWN")],
    ["the server's host is down", fromNode("EHOSTDOWN")],
    ["the connection was aborted", fromNode("ECONNABORTED", "read")],
    ["the embedded database's socket is not there", fromNode("ENOENT")],
    ["the driver lost the connection", new Error("Connection terminated unexpectedly")],
    ["the driver gave up on connecting", new Error("Connection terminated due to connection timeout")],
    ["the pool is exhausted", new Error("timeout exceeded when trying to connect")],
    ["the answer did not come in time", new Error("Query read timeout")],
    ["the connection is broken", new Error("Client has encountered a connection error and is not queryable")],
    ["Prisma: cannot reach the server", fromPrisma("P1001")],
    ["Prisma: the server closed the connection", fromPrisma("P1017")],
    ["Prisma: no connection from the pool", fromPrisma("P2024")],
    [
      "Prisma: no transaction to be had in time",
      fromPrisma("P2028", undefined, "Unable to start a transaction in the given time."),
    ],
    ["Prisma: a conflict", fromPrisma("P2034")],
    ["Prisma: too many connections", fromPrisma("P2037")],
    ["Prisma: read-only", fromPrisma("P2039", "25006")],
    ["Prisma: a raw query met a restart", fromPrisma("P2010", "57P01")],
    ["a row lock held by another for too long", fromPostgresql("55P03")],
    ["a password that is just being changed", refused("28P01")],
    ["a role that may not log in just now", refused("28000")],
    ["a database that is called otherwise while it is put back", refused("3D000")],
    ["a database that takes no connections", refused("55000")],
    ["a database that its owner alone may connect to", refused("42501")],
    ["a certificate of another CA", fromNode("UNABLE_TO_VERIFY_LEAF_SIGNATURE", "")],
    ["a certificate that has run out", fromNode("CERT_HAS_EXPIRED", "")],
    ["a certificate for another name", fromNode("ERR_TLS_CERT_ALTNAME_INVALID", "")],
    ["a server that has no TLS just now", new Error("The server does not support SSL connections")],
  ])("%s", (_, error) => {
    expect(isTransient(error)).toBe(true);
    expect(isDataError(error)).toBe(false);
  });
});

describe("isTransient is false for", () => {
  test.each<[string, unknown]>([
    ["a NUL in a text", fromPostgresql("22021")],
    ["a NUL in a JSON text", fromPostgresql("22P05")],
    ["a key that is taken", fromPostgresql("23505")],
    ["a broken check", fromPostgresql("23514")],
    ["a syntax error", fromPostgresql("42601")],
    ["a table that is not there", fromPostgresql("42P01")],
    ["a permission we lack", fromPostgresql("42501")],
    [
      "a permission we lack on a table, in a German server's words",
      fromPostgresql("42501", "keine Berechtigung"),
    ],
    ["a feature PostgreSQL does not have", fromPostgresql("0A000", "not supported")],
    ["an exception of a trigger's own", fromPostgresql("P0001")],
    ["Prisma: a key that is taken", fromPrisma("P2002")],
    ["Prisma: a transaction that took too long", fromPrisma("P2028", undefined, "expired transaction")],
    ["a file that is not there", fromNode("ENOENT", "open")],
    ["a mistake of ours", new TypeError("x is not a function")],
    ["something that is no error at all", "terminated"],
  ])("%s", (_, error) => expect(isTransient(error)).toBe(false));
});

describe("errors as the drivers really raise them", () => {
  const opened = anOpenDatabase();

  const raised = async (state: string) => {
    const text = `DO $$ BEGIN RAISE EXCEPTION 'raised' USING ERRCODE = '${state}'; END $$`;
    const prisma = await opened.database.prisma();
    return [
      await opened.database.query(statement(`raise_${state}`, text)).catch((error: unknown) => error),
      await prisma.$executeRawUnsafe(text).catch((error: unknown) => error),
    ];
  };

  test.each(["57P01", "25006", "53100", "40P01", "40001", "53300"])("%s is transient", async (state) => {
    for (const error of await raised(state)) expect(isTransient(error)).toBe(true);
  });

  test.each(["40P01", "40001"])("%s is a conflict", async (state) => {
    for (const error of await raised(state)) expect(isConflict(error)).toBe(true);
  });

  test.each(["22021", "23505", "23514"])("%s is an error in the data", async (state) => {
    const [error] = await raised(state);
    expect([isDataError(error), isTransient(error)]).toEqual([true, false]);
  });

  test("a server that is not there is transient", async () => {
    const nowhere = await openDatabase({
      ...opened.settings,
      url: "postgresql://nobody@127.0.0.1:1/nothing",
    });
    const prisma = await nowhere.prisma();
    const errors = [
      await nowhere.ping().catch((error: unknown) => error),
      await prisma.heartbeat.count().catch((error: unknown) => error),
    ];
    expect(errors.map(isTransient)).toEqual([true, true]);
    await nowhere.close();
  });
});
