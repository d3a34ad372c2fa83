import { readFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, it, test } from "@jest/globals";
import express from "express";
import { settings } from "../../src/config.ts";
import { openDatabase, statement } from "../../src/database/database.ts";
import { createPool } from "../../src/database/pool.ts";
import { createHttpServer } from "../../src/http/server.ts";
import { createHttp } from "../../src/platform/http.ts";
import { testServerUrl } from "../support/database.ts";
import { limitsInCode, type Limit } from "../support/limits-in-code.ts";

const UNITS: Record<string, number> = {
  ...{ "": 1, ms: 1, s: 1_000, min: 60_000, h: 3_600_000, second: 1_000, minute: 60_000, hour: 3_600_000 },
  ...{ KiB: 1_024, kB: 1_000, MB: 1_000_000 },
};

/** The rows of the table: in each cell of the middle, names with their values. */
const told = readFileSync(new URL("../../docs/limits.md", import.meta.url), "utf8")
  .split("\n")
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .flatMap(([, file = "", limits = "", why = ""]) => {
    const [, path] = /^`(src\/[\w./-]+)`$/.exec(file) ?? [];
    return path ? limitsIn(limits).map((limit) => ({ file: path, ...limit, why })) : [];
  });

function limitsIn(cell: string): Omit<Limit, "file">[] {
  const found = cell.matchAll(/`([^`]+)`(?: ([\d.,]+(?: \+ [\d.]+)*) ?(ms|s|min|h|KiB|kB|MB)?)?(?:, |$)/g);
  return [...found].map(([, name, numbers, unit = ""]) => {
    const [, count, of] = /^interval '(\d+) (\w+?)s?'$/.exec(name!) ?? [];
    const values = numbers?.replaceAll(",", "").split(" + ") ?? [count!];
    return { name: name!, values: values.map((value) => Number(value) * UNITS[of ?? unit]!) };
  });
}

const lines = (limits: Limit[]) =>
  limits.map(({ file, name, values }) => `${file}: ${name} ${values.join(" + ")}`).sort();
const valueOf = (file: string, name: string) =>
  told.find((limit) => limit.file === file && limit.name === name)!.values[0]!;

describe("docs/limits.md", () => {
  it("has every limit of the code with its value, and no other", () => {
    expect(lines(told.filter(({ file }) => file !== "src/config.ts"))).toEqual(lines(limitsInCode()));
  });

  it("gives a reason for each", () => {
    expect(told.filter(({ why }) => why.length < 10)).toEqual([]);
  });

  it("has the default values of the settings", () => {
    expect(valueOf("src/config.ts", "DATABASE_POOL")).toBe(Number(settings.databasePool.standard));
    expect(valueOf("src/config.ts", "TOKEN_CONCURRENCY")).toBe(Number(settings.tokenConcurrency.standard));
    const seconds = valueOf("src/config.ts", "SWEEP_CRON") / 1_000;
    expect(settings.sweepCron.standard).toBe(`*/${seconds} * * * * *`);
  });
});

describe("the limits of docs/limits.md are in effect", () => {
  const toClose: (() => unknown)[] = [];
  afterAll(async () => {
    for (const close of toClose) await close();
  });

  it("in the HTTP server", () => {
    const server = createHttpServer(express());
    for (const name of ["headersTimeout", "requestTimeout", "keepAliveTimeout", "timeout"] as const)
      expect(`${name} ${server[name]}`).toBe(`${name} ${valueOf("src/http/server.ts", name)}`);
  });

  it("in the connection pool", async () => {
    const pool = createPool({});
    toClose.push(() => pool.end());
    expect(pool.options.connectionTimeoutMillis).toBe(
      valueOf("src/database/pool.ts", "connectionTimeoutMillis"),
    );
    expect(pool.options.query_timeout).toBe(valueOf("src/database/pool.ts", "query_timeout"));
  });

  test("on a connection, as PostgreSQL reports them", async () => {
    const pool = createPool({ connectionString: testServerUrl() });
    toClose.push(() => pool.end());
    for (const name of ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]) {
      const { rows } = await pool.query<{ ms: number }>(
        `SELECT setting::int AS ms FROM pg_settings WHERE name = $1 AND unit = 'ms'`,
        [name],
      );
      expect({ name, rows }).toEqual({ name, rows: [{ ms: valueOf("src/database/pool.ts", name) }] });
    }
  });

  test("on the number of connections, which is a setting", async () => {
    const poolSize = Number(settings.databasePool.standard);
    const database = openDatabase({ url: testServerUrl(), poolSize });
    toClose.push(() => database.close());
    const text = "SELECT pg_sleep(0.3), pg_backend_pid() AS pid";
    const asked = Array.from({ length: poolSize + 10 }, () =>
      database.query<{ pid: number }>(statement("sleep", text)),
    );
    const used = new Set((await Promise.all(asked)).map(([row]) => row!.pid));
    expect(used.size).toBe(poolSize);
  });

  it("on simultaneous connections to the platform", async () => {
    let [open, most] = [0, 0];
    const platform = http.createServer((_request, response) => void setTimeout(() => response.end("{}"), 50));
    platform.on("connection", (socket) => {
      most = Math.max(most, (open += 1));
      socket.on("close", () => (open -= 1));
    });
    await new Promise<void>((resolve) => platform.listen(0, resolve));
    const client = createHttp();
    toClose.push(() => client.close(), () => platform.close()); // prettier-ignore
    const limit = valueOf("src/platform/http.ts", "maxSockets");
    const url = `http://localhost:${(platform.address() as AddressInfo).port}/`;
    await Promise.all(Array.from({ length: limit + 40 }, () => client.send({ method: "GET", url })));
    expect(most).toBe(limit);
  });
});
