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
  Object.assign(words(code), { code, severity: "ERROR", routine });
const node = (code: string) => Object.assign(words(code), { code, syscall: "read" });
const prisma = (code: string, originalCode?: string) =>
  Object.assign(words(code), { code, meta: { driverAdapterError: { cause: { originalCode } } } });

const verdict = (error: unknown) => ({
  isTransient: isTransient(error),
  isConnectionConfigError: isConnectionConfigError(error),
  isDataError: isDataError(error),
});
const EXHAUSTED = ["53100", "53300"];
const ENDED = ["08006", "57014", "57P01", "57P02", "57P03", "25006"];
const CONFLICTS = ["40P01", "40001", "55P03"];

it.each<[string, unknown[]]>([
  [
    "a server that is full, ends, or is read-only, and a conflict",
    [...EXHAUSTED, ...ENDED, ...CONFLICTS].map((code) => postgresql(code)),
  ],
  [
    "a named statement whose table has changed, in any language",
    [postgresql("0A000", "RevalidateCachedQuery")],
  ],
  ["a connection that breaks off", ["ECONNRESET", "ECONNABORTED", "ETIMEDOUT", "EPIPE", "EPROTO"].map(node)],
  [
    "a connection that the driver lost",
    ["Connection terminated unexpectedly", "Query read timeout"].map(words),
  ],
  [
    "one of them through Prisma",
    ["P1001", "P1017", "P2024", "P2028", "P2034", "P2037"].map((code) => prisma(code)),
  ],
  [
    "one of them through Prisma, with PostgreSQL's code",
    [prisma("P2039", "25006"), prisma("P2010", "57P01")],
  ],
])("is worth another try: %s", (_, errors) => {
  for (const error of errors)
    expect([error, verdict(error)]).toEqual([
      error,
      { isTransient: true, isConnectionConfigError: false, isDataError: false },
    ]);
});

it.each<[string, unknown[]]>([
  ["a fault of a statement", ["42601", "42P01", "0A000", "P0001"].map((code) => postgresql(code))],
  [
    "a mistake of ours",
    [new TypeError("x is not a function"), node("ENOENT"), prisma("P2002"), "terminated"],
  ],
])("is not worth another try: %s", (_, errors) => {
  for (const error of errors)
    expect([error, verdict(error)]).toEqual([
      error,
      { isTransient: false, isConnectionConfigError: false, isDataError: false },
    ]);
});

it.each<[string, unknown[]]>([
  [
    "another password, database or right",
    ["28P01", "28000", "3D000", "42501"].map((code) => postgresql(code)),
  ],
  ["a pooler whose clients share a session", ["42P05", "26000"].map((code) => postgresql(code))],
  [
    "a certificate",
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID"].map(node),
  ],
  ["a server without TLS", [words("The server does not support SSL connections")]],
])("ends a start, because an operator must change something first: %s", (_, errors) => {
  for (const error of errors)
    expect([error, verdict(error)]).toEqual([
      error,
      { isTransient: false, isConnectionConfigError: true, isDataError: false },
    ]);
});

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
