import { type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { jest } from "@jest/globals";
import { positional } from "../../src/database/statement.ts";
import { PASSWORD } from "../operator/pages/operator.ts";
import { startKit } from "../support/kit.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { basic } from "../support/partner-calls.ts";
import { eventually, opened } from "../support/world.ts";

// The comparison of the ledgers as a process of its own: 100,000 resources of ours, a list of a million lines, kill -9.

const MANY = 100_000;
// Beside other tests on a small machine.
jest.setTimeout(300_000);
const MOST_MB = 200;
const life = opened(() => aLifecycle({ environment: { OPERATOR_PASSWORD: PASSWORD } }));

/** The most memory that it had, in MB, and what it wrote. */
async function ended(process: ChildProcess, onData?: (text: Buffer) => void) {
  let highMb = 0;
  let [stdout, stderr] = ["", ""];
  process.stdout!.on("data", onData ?? ((text: Buffer) => (stdout += text.toString())));
  process.stderr!.on("data", (text: Buffer) => (stderr += text.toString()));
  const timer = setInterval(() => {
    try {
      const [, kb] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${process.pid}/status`, "utf8")) ?? [];
      highMb = Math.max(highMb, Number(kb ?? 0) / 1_024);
    } catch {
      // It has just ended.
    }
  }, 50);
  const [code] = (await once(process, "close")) as [number | null];
  clearInterval(timer);
  return { code, highMb, stdout, stderr };
}

/** A write of each line takes longer than the comparison. */
function* inChunks(lines: Iterable<string>): Generator<string> {
  let chunk = "";
  for (const line of lines) {
    chunk += line;
    if (chunk.length < 65_536) continue;
    yield chunk;
    chunk = "";
  }
  yield chunk;
}

async function compared(words: string[], lines: Iterable<string>) {
  const process = startKit(life.world.environment, ["reconcile", "--json", ...words]);
  const result = ended(process);
  await pipeline(Readable.from(inChunks(lines)), process.stdin!).catch(() => undefined);
  return result;
}

const ours = async () =>
  (
    await life.world.rows<{ uuid: string }>(
      `SELECT uuid FROM resources WHERE state = 'provisioned' ORDER BY uuid`,
    )
  ).map(({ uuid }) => uuid);

describe("with 100,000 resources of ours", () => {
  beforeAll(async () => {
    const born = positional(
      "test_many_resources",
      `WITH born AS (
         INSERT INTO resources (uuid, plan, applied_plan, state, created_at, updated_at)
         SELECT gen_random_uuid(), 'basic', 'basic', 'provisioned', now() - interval '1 day', now() - interval '1 day'
         FROM generate_series(1, ${MANY}) RETURNING uuid
       )
       INSERT INTO credentials (uuid, state) SELECT uuid, 'no_grant' FROM born`,
    );
    // It may take longer than a request may.
    await life.world.db.planned((tx) => tx.query(born));
  });

  it("a list of a million lines is compared in less than 200 MB: capitals, twice the same, garbage, unknown ones", async () => {
    const uuids = await ours();
    function* lines() {
      for (const [at, uuid] of uuids.entries()) if (at % 10_000 !== 0) yield `${uuid.toUpperCase()}\n`;
      for (let line = 0; line < 1_000; line += 1) yield `${randomUUID()}\n`;
      for (let line = 0; line < 299_000; line += 1) yield `garbage ${line}\n`;
      for (let round = 0; round < 6; round += 1) for (const uuid of uuids.slice(1)) yield `${uuid}\n`;
    }
    const { code, highMb, stdout, stderr } = await compared(["--platform-list"], lines());
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    const { checked, differences } = JSON.parse(stdout) as {
      checked: number;
      differences: { kind: string }[];
    };
    const count = (kind: string) => differences.filter((each) => each.kind === kind).length;
    expect([checked, count("unknown_here"), count("gone_at_platform")]).toEqual([MANY, 1_000, 1]);
    expect(highMb).toBeLessThan(MOST_MB);
  });

  it("a list that has none of ours makes as many differences, of which a quarter is named, and ends none", async () => {
    const { code, stdout } = await compared(
      ["--platform-list", "--fix", "gone_at_platform", "--yes"],
      [`${randomUUID()}\n`],
    );
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining("too_many") });
    const all = await compared(["--platform-list"], [`${randomUUID()}\n`]);
    expect(all.code).toBe(1);
    const { differences, unnamed } = JSON.parse(all.stdout) as { differences: object[]; unnamed: object };
    expect([differences.length, unnamed]).toEqual([25_000, { gone_at_platform: MANY + 1 - 25_000 }]);
    expect(all.highMb).toBeLessThan(MOST_MB);
    const page = await fetch(`${life.world.service.url}/operator/ledgers`, {
      headers: { authorization: basic("operator", PASSWORD) },
    });
    expect(await page.text()).toContain("gone_at_platform: 100,000");
  });

  it("a line without an end is refused before it fills the memory", async () => {
    function* endless() {
      yield `${randomUUID()}\n`;
      for (let chunk = 0; chunk < 1_000; chunk += 1) yield "x".repeat(1_000_000);
    }
    const { code, highMb, stdout } = await compared(["--platform-list"], endless());
    expect({ code, stdout }).toEqual({
      code: 2,
      stdout: expect.stringContaining("Line 2 on standard input is longer than 16 MiB."),
    });
    expect(highMb).toBeLessThan(MOST_MB);
  });
});

describe("kit resources export of as many", () => {
  const started = () => startKit(life.world.environment, ["resources", "export"]);

  it("is streamed to a reader that pauses", async () => {
    const process = started();
    let lines = 0;
    const result = ended(process, (text) => {
      lines += text.toString().split("\n").length - 1;
      if (lines % 1_000 > 10) return;
      process.stdout!.pause();
      setTimeout(() => process.stdout!.resume(), 5);
    });
    const { code, highMb, stderr } = await result;
    expect({ code, stderr, lines }).toEqual({ code: 0, stderr: "", lines: MANY });
    expect(highMb).toBeLessThan(MOST_MB);
  });

  it("ends without an error when its reader has read enough", async () => {
    const process = started();
    process.stdout!.once("data", () => process.stdout!.destroy());
    const { code, stderr } = await ended(process);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});

it("--fix of as many differences takes no more memory, and names and cures a quarter", async () => {
  const before = await ours();
  // PostgreSQL expects of the next comparison what it has seen of the last one.
  await life.world.rows("ANALYZE ledger_findings");
  function* lines() {
    for (const uuid of before) yield `${uuid}\n`;
    for (let line = 0; line < MANY; line += 1) yield `{"uuid":"${randomUUID()}","plan":"basic"}\n`;
  }
  const words = ["--platform-list", "--fix", "unknown_here", "--yes"];
  const { code, highMb, stdout } = await compared(words, lines());
  expect({ code, data: JSON.parse(stdout) as object }).toMatchObject({
    code: 1,
    data: { fixed: 25_000, differences: [], unnamed: { unknown_here: MANY - 25_000 } },
  });
  expect(await ours()).toHaveLength(before.length + 25_000);
  expect(highMb).toBeLessThan(MOST_MB);
});

it("killed while it fixes, it is run again: each is ended once", async () => {
  const end = `UPDATE resources SET state = 'deprovisioned' WHERE uuid IN (SELECT uuid FROM credentials WHERE state = 'no_grant')`;
  await life.world.db.planned((tx) => tx.query(positional("test_end_many", end)));
  const uuids = await life.world.installed(20);
  const others = await life.world.installed(20);
  for (const uuid of uuids) life.control.removeWithoutDeprovision(uuid);
  const words = ["reconcile", "--fix", "gone_at_platform", "--yes", "--json"];
  const first = startKit(life.world.environment, words);
  const isDone = async () =>
    (await life.world.rows(`SELECT 1 FROM events WHERE type = 'deprovisioned'`)).length;
  await eventually(async () => (await isDone()) > 0);
  first.kill("SIGKILL");
  await once(first, "exit");
  const left = uuids.length - (await isDone());
  const { code, stdout } = await ended(startKit(life.world.environment, words));
  expect({ code, data: JSON.parse(stdout) as object }).toMatchObject({
    code: 0,
    data: { fixed: left, differences: [] },
  });
  expect(await isDone()).toBe(uuids.length);
  for (const uuid of uuids)
    await eventually(() => expect(life.vendor.callsOf(uuid, "deprovision")).toHaveLength(1));
  expect(await ours()).toEqual(others);
});
