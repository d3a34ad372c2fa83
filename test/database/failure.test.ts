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
const node = (code: string) => Object.assign(words(code), { code, syscall: "read" });
const postgresql = (code: string) => Object.assign(words(code), { code, severity: "ERROR" });
const prisma = (code: string, originalCode?: string) =>
  Object.assign(words(code), { code, meta: { driverAdapterError: { cause: { originalCode } } } });
const each = (codes: string, make: (code: string) => unknown): unknown[] =>
  codes.split(" ").map((code) => make(code));

const PASSES = { isTransient: true, isConnectionConfigError: false };
const STAYS = { isTransient: false, isConnectionConfigError: false };
const NEEDS_AN_OPERATOR = { isTransient: false, isConnectionConfigError: true };

it.each<[string, object, unknown[]]>([
  ["the connection was lost", PASSES, each("08006 57P01 57P02 57P03", postgresql)],
  ["the disk is full, or the server has no connection left", PASSES, each("53100 53300", postgresql)],
  ["the server is read-only, as after a failover", PASSES, [postgresql("25006")]],
  ["a statement waited or took too long", PASSES, each("55P03 57014", postgresql)],
  ["two transactions stood in each other's way", PASSES, each("40P01 40001", postgresql)],
  [
    "a named statement's table has changed",
    PASSES,
    [Object.assign(postgresql("0A000"), { routine: "RevalidateCachedQuery" })],
  ],
  ["the connection breaks off", PASSES, each("ECONNRESET ECONNABORTED ETIMEDOUT EPIPE EPROTO", node)],
  ["the driver lost the connection", PASSES, [words("Connection terminated unexpectedly")]],
  ["the driver waited in vain for an answer", PASSES, [words("Query read timeout")]],
  ["Prisma met one of these", PASSES, each("P1001 P1017 P2024 P2028 P2034 P2037", prisma)],
  ["Prisma gives PostgreSQL's code", PASSES, [prisma("P2039", "25006"), prisma("P2010", "57P01")]],
  ["a statement is at fault", STAYS, each("42601 42P01 0A000 P0001", postgresql)],
  ["a value is at fault", STAYS, [...each("22021 23505 54000", postgresql), prisma("P2002")]],
  ["our code is at fault", STAYS, [new TypeError("x is not a function"), node("ENOENT"), "terminated"]],
  [
    "the password, the database or a right is another",
    NEEDS_AN_OPERATOR,
    each("28P01 28000 3D000 42501", postgresql),
  ],
  [
    "the server asks for a password",
    NEEDS_AN_OPERATOR,
    [words("SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string")],
  ],
  ["a pooler's clients share a session", NEEDS_AN_OPERATOR, each("42P05 26000", postgresql)],
  [
    "a certificate is at fault",
    NEEDS_AN_OPERATOR,
    each("UNABLE_TO_VERIFY_LEAF_SIGNATURE CERT_HAS_EXPIRED ERR_TLS_CERT_ALTNAME_INVALID", node),
  ],
  ["the server has no TLS", NEEDS_AN_OPERATOR, [words("The server does not support SSL connections")]],
])(
  "an error tells whether another try may help, or an operator must act first: %s",
  (_, expected, errors) => {
    const found = errors.map((error) => ({
      isTransient: isTransient(error),
      isConnectionConfigError: isConnectionConfigError(error),
    }));
    expect(found).toEqual(errors.map(() => expected));
  },
);

describe("errors as the drivers really raise them", () => {
  const opened = anOpenDatabase();

  it.each([
    ["57P01", "transient"],
    ["40P01", "transient, a conflict"],
    ["40001", "transient, a conflict"],
    ["22021", "of the data"],
    ["23505", "of the data"],
    ["54000", "of the data"],
  ])("%s is %s, from either", async (state, expected) => {
    const text = `DO $$ BEGIN RAISE EXCEPTION 'raised' USING ERRCODE = '${state}'; END $$`;
    const client = await opened.database.prisma();
    for (const error of [
      await opened.database.query(statement(`raise_${state}`, text)).catch((thrown: unknown) => thrown),
      await client.$executeRawUnsafe(text).catch((thrown: unknown) => thrown),
    ]) {
      const is = {
        transient: isTransient(error),
        "a conflict": isConflict(error),
        "of the data": isDataError(error),
      };
      expect(
        Object.entries(is)
          .flatMap(([name, isSo]) => (isSo ? [name] : []))
          .join(", "),
      ).toBe(expected);
    }
  });

  it("a server that is not there is worth another try", async () => {
    const nowhere = openDatabase({ ...opened.settings, url: "postgresql://nobody@127.0.0.1:1/nothing" });
    const client = await nowhere.prisma();
    const errors = await Promise.all(
      [nowhere.ping(), client.heartbeat.count()].map((work) =>
        Promise.resolve(work).catch((error: unknown) => error),
      ),
    );
    expect(errors.map(isTransient)).toEqual([true, true]);
    await nowhere.close();
  });
});
