// Tables of docs/, held to what the code, the database and the sandbox have: limits, states, endpoints.

import { readFileSync } from "node:fs";
import express from "express";
import type pg from "pg";
import { startSandbox } from "../../packages/sandbox/index.ts";
import { settings } from "../../src/config.ts";
import { createPool } from "../../src/database/database.ts";
import { createHttpServer, PIPELINES } from "../../src/http/server.ts";
import { MOST_CONNECTIONS } from "../../src/process/descriptors.ts";
import { drawn, MACHINES, PAGE } from "../../workshop/states.ts";
import { clientEndpoints } from "../support/client-endpoints.ts";
import { aFreshDatabase, type FreshDatabase } from "../support/database.ts";

const read = (page: string) => readFileSync(new URL(`../../docs/${page}`, import.meta.url), "utf8");

let fresh: FreshDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  fresh = await aFreshDatabase();
  pool = createPool({ connectionString: fresh.settings.url });
});
afterAll(async () => {
  await pool.end();
  await fresh.close();
});

describe("docs/limits.md has the limits that are in effect", () => {
  /** The numbers of a row, as they are written, each with its unit. */
  function numbersOf(row: string): string[] {
    const line = read("limits.md")
      .split("\n")
      .find((each) => each.startsWith(`| ${row} |`));
    return line!
      .split("|")[2]!
      .replace(/(?<=\d),(?=\d)/g, "")
      .match(/\d+(?: (?:s|min|h)\b)?/g)!;
  }
  const seconds = (ms: number) => `${ms / 1_000} s`;

  it("for slow clients", () => {
    const { server } = createHttpServer(express(), console, { mostConnections: 1 });
    const { headersTimeout, requestTimeout, keepAliveTimeout, timeout } = server;
    const limits = [headersTimeout, requestTimeout, keepAliveTimeout, timeout];
    expect(numbersOf("Slow clients")).toEqual(limits.map(seconds));
  });

  it("for clients that send much, or are many", () => {
    const sent = [PIPELINES.mostUnanswered, PIPELINES.mostWaiting].map(String);
    expect(numbersOf("Requests sent ahead of their answers")).toEqual(sent);
    expect(numbersOf("Open connections of a web process")).toEqual([`${MOST_CONNECTIONS}`]);
    // A process with so many file descriptors accepts as many.
    const [, files] = /^LimitNOFILE=(\d+)$/m.exec(read("deploy.md"))!;
    expect(Number(files) / 2).toBeGreaterThan(
      MOST_CONNECTIONS + Number(settings.databasePool.standard) + 100,
    );
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

it("docs/states.md draws the machines as they are; npx tsx workshop/states.ts writes it anew", () => {
  const page = readFileSync(PAGE, "utf8");
  expect(page).toBe(drawn(page));
});

it.each(MACHINES)("$title has the states that the database allows, and reaches each", async (machine) => {
  const { rows } = await pool.query<{ text: string }>(
    `SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint WHERE conname = $1`,
    [`${machine.table}_state`],
  );
  const allowed = [...rows[0]!.text.matchAll(/'(\w+)'/g)].map(([, state]) => state).sort();
  expect([...machine.states].sort()).toEqual(allowed);
  expect([...new Set(machine.moves.map(({ to }) => to))].sort()).toEqual(allowed);
});

describe("docs/platform-coverage.md", () => {
  const named = read("platform-coverage.md").matchAll(/`((?:GET|POST|PUT|PATCH|DELETE) \/[^`]*)`/g);
  const endpoints = [...new Set([...named].map(([, one]) => one!))];

  it("names every endpoint that the kit calls", async () => {
    /** `GET /apps/{app_id_or_name}` and `GET /apps/:id` in one form. */
    const plain = (endpoint: string) => endpoint.replace(/\{[^}]+\}|:\w+/g, ":");
    const documented = endpoints.map(plain);
    const called = (await clientEndpoints()).map(plain);
    expect(called.filter((endpoint) => !documented.includes(endpoint))).toEqual([]);
  });

  it("names no endpoint that the sandbox does not serve", async () => {
    const sandbox = await startSandbox();
    const { token } = sandbox.control.userToken();
    const headers = { authorization: `Bearer ${token}`, accept: sandbox.settings.mediaType };
    const UNKNOWN = /^5|^40[45] .*(has|plays) no [A-Z/]|Cannot [A-Z]+|is only read/;
    const lost: string[] = [];
    for (const endpoint of endpoints) {
      const [method, pathname] = endpoint.replace(/\{[^}]+\}/g, "x").split(" ") as [string, string];
      const response = await fetch(sandbox.url + pathname, { method, headers, redirect: "manual" });
      const answer = `${response.status} ${await response.text()}`;
      if (UNKNOWN.test(answer)) lost.push(`${endpoint}: ${answer}`);
    }
    await sandbox.close();
    expect(lost).toEqual([]);
  });
});
