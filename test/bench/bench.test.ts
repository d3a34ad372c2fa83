import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { checkTokens } from "../../workshop/bench/books.ts";
import { thereAndBack, type Sample } from "../../workshop/bench/contest.ts";
import { expectBoundedPlan } from "../../workshop/bench/plan.ts";
import { plots } from "../../workshop/bench/plots.ts";
import { startPostgres, type Server } from "../../workshop/bench/postgres.ts";
import { profileText, readProfiles } from "../../workshop/bench/profile.ts";
import { provisions } from "../../workshop/bench/provisions.ts";
import { table } from "../../workshop/bench/report.ts";
import { seedTokens } from "../../workshop/bench/seed.ts";
import type { Line } from "../../workshop/bench/works/work.ts";
import { administer, databaseUrl } from "../support/database.ts";
import { program } from "../support/program.ts";
import { eventually } from "../support/world.ts";

const root = new URL("../../", import.meta.url);

/** A folder like dist/, whose programs are those of src/; `parts` stand around the web and worker processes', `kit` before the command. */
function aBuiltService(parts = "{}", kit = ""): string {
  const folder = mkdtempSync(path.join(tmpdir(), "bench-test-"));
  const write = (name: string, code: string) => writeFileSync(path.join(folder, name), code);
  const load = (file: string) => `await import("${pathToFileURL(program(`src/${file}`)).href}")`;
  symlinkSync(fileURLToPath(new URL("node_modules", root)), path.join(folder, "node_modules"));
  writeFileSync(path.join(folder, "package.json"), `{ "type": "module" }`);
  write("kit.js", kit + load("kit.ts"));
  for (const [name, run] of [
    ["web", "runWeb"],
    ["worker", "runWorker"],
  ] as const)
    // prettier-ignore
    write(
      `${name}.js`,
      `const { readConfig } = ${load("config.ts")};
       const { readEnvironment } = ${load("environment.ts")};
       const { runProcess } = ${load("process/run-process.ts")};
       const { ${run} } = ${load(`process/run-${name}.ts`)};
       await runProcess(() => readConfig(readEnvironment()), (config) => ${run}(config, ${parts}));`,
    );
  return folder;
}

/** Deletes one row of those that were just answered. */
const LOSES_A_ROW = `{ wrapDatabase: (db) => {
  let isLost = false;
  const query = async (asked, values) => {
    const rows = await db.query(asked, values);
    if (asked.name === "provision" && rows.length > 0 && !isLost) {
      isLost = true;
      await db.query({ name: "lose", text: "DELETE FROM resources WHERE uuid = $1" }, [rows[0].uuid]);
    }
    return rows;
  };
  return { ...db, query };
} }`;

/** Stores the earlier tokens of a refreshed resource again. */
const KEEPS_OLD_TOKENS = `{ wrapDatabase: (db) => {
  const query = async (asked, values) => {
    if (asked.name !== "store_tokens") return db.query(asked, values);
    const [uuids] = values;
    const text = "SELECT uuid, sealed_access_token AS access, sealed_refresh_token AS refresh FROM credentials WHERE uuid = ANY($1::uuid[])";
    const before = new Map((await db.query({ name: "before", text }, [uuids])).map((row) => [row.uuid, row]));
    const old = (column) => uuids.map((uuid) => before.get(uuid)[column]);
    return db.query(asked, [...values.slice(0, 3), old("access"), old("refresh"), ...values.slice(5)]);
  };
  return { ...db, query };
} }`;

/** Creates only the schema; every other command fails at once. */
const FAILS = `if (process.argv[2] !== "migrate") { console.error("no such kiln"); process.exit(1); }\n`;

const main = fileURLToPath(new URL("workshop/bench/main.ts", root));
const command = (dist: string, ...words: string[]) => [
  ...[
    "--import",
    "tsx",
    main,
    "--quick",
    "--seconds",
    "0.2",
    "--scale",
    "0.05",
    "--json",
    "--dist",
    dist,
    ...words,
  ],
];
let server: Server;
beforeAll(async () => void (server = await startPostgres(undefined)));
afterAll(() => server.stop());

function bench(dist: string, ...words: string[]) {
  const child = spawn(process.execPath, command(dist, ...words), {
    cwd: fileURLToPath(root),
    env: { ...process.env, BENCH_DATABASE_URL: server.url },
  });
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return {
    child,
    ended: ended.then(([stdout, stderr, [status]]) => ({ status: status as number, stdout, stderr })),
  };
}

/** The databases on the server that a bench with this process id made. */
const databasesOf = (pid: number) =>
  administer(server.url, (ask) =>
    ask(`SELECT FROM pg_database WHERE datname IN ('bench_template_${pid}', 'bench_${pid}_1')`),
  );

describe("npm run bench", () => {
  let [sound, broken, forgetful, failing] = ["", "", "", ""];
  beforeAll(() => {
    [sound, broken] = [aBuiltService(), aBuiltService(LOSES_A_ROW)];
    [forgetful, failing] = [aBuiltService(KEEPS_OLD_TOKENS), aBuiltService("{}", FAILS)];
  });
  afterAll(() =>
    [sound, broken, forgetful, failing].forEach((folder) => rmSync(folder, { recursive: true })),
  );

  it("reports the service relative to its baseline, after it has checked each answer and each token pair in the database", async () => {
    const only = ["provision-202", "refresh-0ms", "reseal"].flatMap((name) => ["--only", name]);
    const { status, stdout, stderr } = await bench(sound, ...only).ended;
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.not.stringContaining("WRONG") });
    const { lines, faults } = JSON.parse(stdout) as { lines: Line[]; faults: string[] };
    expect(faults).toEqual([]);
    expect(lines).toHaveLength(3);
    const { floor, subject, ratio, sample } = lines[0]!;
    for (const figure of [floor!.value, subject, ratio, sample!.p50Ms, sample!.p99Ms])
      expect(figure).toBeGreaterThan(0);
  });

  it("fails with the reason when a row is missing, the stored tokens are not those of the refresh, or a command beside fails", async () => {
    const [noRow, oldTokens, noCommand] = await Promise.all([
      bench(broken, "--only", "provision-202").ended,
      bench(forgetful, "--only", "refresh-0ms").ended,
      bench(failing, "--only", "mixed").ended,
    ]);
    expect(noRow.stderr).toMatch(/WRONG {2}provision-202: 1 of \d+ that were answered have no row/);
    expect(JSON.parse(noRow.stdout)).toMatchObject({ lines: [] });
    expect(oldTokens.stderr).toMatch(/WRONG {2}refresh-0ms: Token pair \d+ of [0-9a-f-]{36} is not stored/);
    expect(noCommand.stderr).toMatch(/WRONG {2}mixed: a command beside ended with 1:\nno such kiln/);
    expect([noRow, oldTokens, noCommand].map(({ status }) => status)).toEqual([1, 1, 1]);
  });

  it.each(["SIGINT", "SIGHUP"] as const)("leaves no database behind on %s", async (signal) => {
    const { child, ended } = bench(sound, "--only", "process");
    await eventually(async () => expect(await databasesOf(child.pid!)).toHaveLength(2));
    child.kill(signal);
    expect(await ended).toMatchObject({ status: 1 });
    expect(await databasesOf(child.pid!)).toEqual([]);
  });

  it("refuses an unknown name or option, and lists the known ones", async () => {
    const [name, option] = await Promise.all([
      bench(sound, "--only", "provision-teapot").ended,
      bench(sound, "--teapot").ended,
    ]);
    expect(name).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("There is no provision-teapot."),
    });
    expect(name.stderr).toContain("NAME: provision-202, ");
    expect(option.status).toBe(2);
    expect(option.stderr).toMatch(/^Unknown option '--teapot'.*\nnpm run bench \[-- --quick\]/);
    expect(option.stderr).not.toContain("    at ");
  });

  it("refuses a PostgreSQL that does not write durably", async () => {
    await administer(server.url, async (ask) => {
      await ask("CREATE DATABASE hasty");
      await ask("ALTER DATABASE hasty SET synchronous_commit = off");
    });
    await expect(startPostgres(databaseUrl(server.url, "hasty"))).rejects.toThrow(
      "This PostgreSQL does not write durably (fsync on, synchronous_commit off)",
    );
  });
});

describe("checks of the bench", () => {
  it("accept only the token pair of this refresh, not an earlier one", async () => {
    const rows: Record<string, unknown>[] = [];
    const ask = async (text: string, values: unknown[] = []) => {
      const [uuids = [], access = [], refresh = []] = values as [string[]?, Uint8Array[]?, Uint8Array[]?];
      if (text.includes("INSERT"))
        uuids.forEach((uuid, i) =>
          rows.push({ uuid, generation: 1, access: access[i], refresh: refresh[i] }),
        );
      return rows as never[];
    };
    const uuids = await seedTokens({ ask, url: "", drop: async () => undefined }, 3);
    await checkTokens({ ask }, uuids, 1);
    for (const row of rows) row["generation"] = 2;
    await expect(checkTokens({ ask }, uuids, 2)).rejects.toThrow(/^Token pair 2 of .* is not stored$/);
  });

  it("require the id in each answer, and config vars in a 200", () => {
    const { next, uuids } = provisions({ plan: "basic", status: 200 });
    const { bytes, isRight } = next();
    const [, id] = /"uuid":"([^"]+)"/.exec(bytes.toString())!;
    for (const answer of [{ id }, { config: {} }, { id, config: [] }, null])
      expect(isRight(200, JSON.stringify(answer))).toBe(false);
    expect(isRight(202, JSON.stringify({ id, config: {} }))).toBe(false);
    expect(isRight(200, JSON.stringify({ id, config: { TEAPOT_URL: "" } }))).toBe(true);
    expect(uuids).toEqual([id]);
  });

  it("measure both directions and take the median of each", async () => {
    const order: number[] = [];
    const measured = await thereAndBack([1, 2, 3], async (step) => {
      order.push(step);
      return { perSecond: order.length } as Sample;
    });
    expect(order).toEqual([1, 2, 3, 3, 2, 1]);
    expect(measured.map(({ perSecond }) => perSecond)).toEqual([3.5, 3.5, 3.5]);
  });
});

describe("the check of a claim's query plan", () => {
  const scan = { "Node Type": "Index Scan", "Index Name": "credentials_refresh_due", "Actual Loops": 1 };
  const planOf = (node: object) => [
    { Plan: { "Node Type": "Limit", "Actual Rows": 64, "Actual Loops": 1, Plans: [node] } },
  ];
  const check = (node: object) => () => expectBoundedPlan("claim", planOf(node), 64);

  it("accepts an index scan of the queue that is limited to the batch", () => {
    expect(check({ ...scan, "Actual Rows": 64 })).not.toThrow();
  });

  it("refuses a table scan, a read beyond the batch, and a plan without the queue's index", () => {
    const whole = {
      "Node Type": "Seq Scan",
      "Relation Name": "credentials",
      "Actual Rows": 1,
      "Actual Loops": 1,
    };
    expect(check(whole)).toThrow("claim reads all of credentials");
    expect(check({ ...scan, "Actual Rows": 1, "Rows Removed by Filter": 900 })).toThrow("reads 901 rows");
    expect(check({ ...scan, "Actual Rows": 1, "Index Name": "credentials_pkey" })).toThrow(
      "none of its queue's",
    );
  });
});

describe("the report of the bench", () => {
  const line = (change: Partial<Line>): Line => ({
    ...{ work: "provision", unit: "req/s", floor: { name: "bare", value: 1000 }, subject: 1500, ratio: 1.5 },
    ...{ target: { atLeast: 1.3 }, ...change },
  });

  it("says for each line whether its target was met, and nothing without a target", () => {
    const lines = [line({}), line({ ratio: 1.2 }), line({ target: { atMost: 1 } }), line({ target: {} })];
    const ends = table(lines).split("\n").slice(1).map((row) => row.trim().split(/ +/).at(-1)); // prettier-ignore
    expect(ends).toEqual(["met", "MISSED", "MISSED", "1.5"].map((end, i) => (i === 3 ? "1.50" : end)));
  });

  it("draws one SVG for each growing quantity", () => {
    const point = (x: number) => ({ plot: "processes" as const, x });
    const drawn = plots([line({ point: point(1) }), line({ point: point(2), subject: 2900 }), line({})]);
    expect(Object.keys(drawn)).toEqual(["processes.svg"]);
    expect(drawn["processes.svg"]!.svg).toMatch(/^<svg[^>]*xmlns[\s\S]*2900[\s\S]*<\/svg>$/);
  });

  describe("profile", () => {
    let folder: string;
    beforeAll(() => mkdirSync((folder = path.join(tmpdir(), `bench-profile-${process.pid}`))));
    afterAll(() => rmSync(folder, { recursive: true }));

    it("says so when no process was profiled", () => {
      expect(profileText(readProfiles(folder))).toContain("No process of the service ran here");
    });

    it("contains the self time of each function, without idle time, by function and by package", () => {
      const node = (id: number, functionName: string, url: string) => ({
        id,
        callFrame: { functionName, url },
      });
      const nodes = [
        node(1, "(idle)", ""),
        node(2, "seal", "file:///kit/dist/vault/vault.js"),
        node(3, "parse", "file:///kit/node_modules/pg-protocol/dist/parser.js"),
      ];
      const profile = { nodes, samples: [1, 2, 3, 2], timeDeltas: [900, 50, 25, 25] };
      writeFileSync(path.join(folder, "one.cpuprofile"), JSON.stringify(profile));
      const { functions, places } = readProfiles(folder);
      expect(functions).toEqual([
        { name: "seal", place: "vault/vault.js", share: 0.75 },
        { name: "parse", place: "pg-protocol", share: 0.25 },
      ]);
      expect(places.map(({ place }) => place)).toEqual(["vault/vault.js", "pg-protocol"]);
    });
  });
});
