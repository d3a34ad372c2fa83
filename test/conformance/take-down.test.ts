// A run removes everything that it created at a service before it ends, however it ends; and shows that.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { program } from "../support/program.ts";
import { eventually } from "../support/world.ts";

const SERVICE = `exec ${process.execPath} ${fileURLToPath(new URL("../../packages/conformance/test/foreign-service.mjs", import.meta.url))}`;
const JUDGED_BY = ["AUTH", "PROV", "REQ", "IDEM", "PLAN-01", "DEPR-01", "DEPR-04", "TOMB"];

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(path.join(tmpdir(), "conformance-"))));
afterAll(() => rm(folder, { recursive: true }));

const words = (only: readonly string[]) => [
  ...[program("dev/conformance.ts"), "--command", SERVICE, "--plan", "small", "--other-plan", "large"],
  ...["--token-life", "3", "--grace", "1", "--only", ...only],
];

/** The environment of a run, whose service behaves in this way, and the book that the service keeps. */
let books = 0;
function aRun(foreign: string) {
  const book = path.join(folder, `book-${(books += 1)}`);
  /** The uuids that the service created, and those that it removed. */
  async function booked() {
    const lines = (await readFile(book, "utf8").catch(() => "")).trim().split("\n");
    const of = (what: string) =>
      [...new Set(lines.filter((line) => line.startsWith(what)).map((line) => line.slice(5)))].sort();
    return { made: of("made"), gone: of("gone") };
  }
  async function expectNothingLeft(atLeast = 1): Promise<void> {
    const { made, gone } = await booked();
    expect(made.length).toBeGreaterThanOrEqual(atLeast);
    expect(gone).toEqual(made);
  }
  const environment = { PATH: process.env["PATH"]!, BOOK: book, FOREIGN: foreign };
  return { environment, booked, expectNothingLeft };
}

function conformance(foreign: string, only: readonly string[] = JUDGED_BY, more: readonly string[] = []) {
  const { environment, ...run } = aRun(foreign);
  const child = spawn(process.execPath, [...words(only), ...more], { env: environment });
  child.stdin.end();
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]).then(
    ([stdout, stderr, [code]]) => ({ code: code as number | null, stdout, stderr }),
  );
  return { ...run, child, ended };
}

describe("npm run conformance", () => {
  it("leaves nothing behind at a good service, and at one with a mistake, which breaks a rule", async () => {
    const [good, mistaken] = [conformance("good"), conformance("")];
    // Resources that the service wrongly created count too.
    expect(await good.ended).toMatchObject({ code: 0, stderr: "" });
    expect(await mistaken.ended).toMatchObject({ code: 1, stderr: "" });
    for (const each of [good, mistaken]) await each.expectNothingLeft(20);
  });

  it("leaves nothing behind, not even the service, when SIGINT, SIGTERM or SIGHUP ends it", async () => {
    const endedBy = async (name: NodeJS.Signals) => {
      const { child, ended, booked, expectNothingLeft } = conformance("");
      await eventually(async () => (await booked()).made.length > 5);
      child.kill(name);
      // npm forwards to its child the signal that the terminal has already sent to all.
      setTimeout(() => child.kill(name), 5);
      // When a terminal is closed, the shell may send SIGHUP again.
      if (name === "SIGHUP") setTimeout(() => child.kill(name), 1_200);
      const { code, stdout, stderr } = await ended;
      expect({ name, code, stdout }).toEqual({ name, code: 130, stdout: "" });
      expect(stderr).toMatch(
        /^Stopping: what was installed is taken down first\. [^]+\n✗ Stopped: nothing is judged\.\n$/,
      );
      await expectNothingLeft(5);
    };
    await Promise.all((["SIGINT", "SIGTERM", "SIGHUP"] as const).map(endedBy));
  });
});
