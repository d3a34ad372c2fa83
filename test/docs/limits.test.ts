import { readFileSync } from "node:fs";
import express from "express";
import { settings } from "../../src/config.ts";
import { createPool } from "../../src/database/database.ts";
import { createHttpServer } from "../../src/http/server.ts";
import { testServerUrl } from "../support/database.ts";

/** The numbers of a row of docs/limits.md, as they are written, each with its unit. */
function numbersOf(row: string): string[] {
  const page = readFileSync(new URL("../../docs/limits.md", import.meta.url), "utf8");
  const line = page.split("\n").find((each) => each.startsWith(`| ${row} |`));
  return line!.split("|")[2]!.match(/\d+(?: (?:s|min|h)\b)?/g)!;
}
const seconds = (ms: number) => `${ms / 1_000} s`;

describe("docs/limits.md has the limits that are in effect", () => {
  const pool = createPool({ connectionString: testServerUrl() });
  afterAll(() => pool.end());

  it("for slow clients", () => {
    const { headersTimeout, requestTimeout, keepAliveTimeout, timeout } = createHttpServer(express()).server;
    const limits = [headersTimeout, requestTimeout, keepAliveTimeout, timeout];
    expect(numbersOf("Slow clients")).toEqual(limits.map(seconds));
  });

  it("at PostgreSQL", async () => {
    const names = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"];
    const { rows } = await pool.query<{ ms: number }>(
      `SELECT setting::int AS ms FROM unnest($1::text[]) WITH ORDINALITY AS asked (name, place)
         JOIN pg_settings USING (name) ORDER BY place`,
      [names],
    );
    const limits = [pool.options.connectionTimeoutMillis!, ...rows.map(({ ms }) => ms)];
    expect(numbersOf("A connection, a statement")).toEqual(limits.map(seconds));
  });

  it("by default in the settings", () => {
    const [connections] = numbersOf("Connections of each process");
    expect(connections).toBe(settings.databasePool.standard);
    expect(numbersOf("A call to the token endpoint").at(-1)).toBe(settings.tokenConcurrency.standard);
    expect(settings.sweepCron.standard).toBe(`*/${Number.parseInt(numbersOf("Sweeps")[0]!)} * * * * *`);
  });
});
