// A run removes everything that it created at a service before it ends, however it ends; and shows that.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { withoutWaits } from "../../packages/conformance/test/command.ts";
import { program } from "../support/program.ts";
import { eventually } from "../support/world.ts";

const SERVICE = `exec ${process.execPath} ${fileURLToPath(new URL("../../packages/conformance/test/foreign-service.mjs", import.meta.url))}`;
const JUDGED_BY = ["AUTH", "PROV", "REQ", "IDEM", "PLAN-01", "DEPR-01", "DEPR-04", "TOMB"];

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(path.join(tmpdir(), "conformance-"))));
afterAll(() => rm(folder, { recursive: true }));

let books = 0;
/** A run against the service, which behaves in this way and keeps a book of what it creates and removes. */
function conformance(foreign: string) {
  const BOOK = path.join(folder, `book-${(books += 1)}`);
  const words = ["--command", SERVICE, "--plan", "small", "--other-plan", "large", "--token-life", "3"];
  const child = spawn(
    process.execPath,
    [program("dev/conformance.ts"), ...words, "--grace", "4", "--only", ...JUDGED_BY],
    { env: { PATH: process.env["PATH"], BOOK, FOREIGN: foreign } },
  );
  child.stdin.end();
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]).then(
    ([stdout, stderr]) => ({ code: child.exitCode, stdout, stderr: withoutWaits(stderr) }),
  );
  /** The uuids that the service created, or removed. */
  async function booked(what: "made" | "gone") {
    const lines = (await readFile(BOOK, "utf8").catch(() => "")).trim().split("\n");
    return [...new Set(lines.flatMap((line) => (line.startsWith(what) ? [line.slice(5)] : [])))].sort();
  }
  async function expectNothingLeft(atLeast: number): Promise<void> {
    expect((await booked("made")).length).toBeGreaterThanOrEqual(atLeast);
    expect(await booked("gone")).toEqual(await booked("made"));
  }
  return { child, ended, booked, expectNothingLeft };
}

describe("npm run conformance", () => {
  it("leaves nothing behind at a good service, and at one with a mistake, which breaks a rule", async () => {
    const [good, mistaken] = [conformance("good"), conformance("")];
    // Resources that the service wrongly created count too.
    expect(await good.ended).toMatchObject({ code: 0, stderr: "" });
    expect(await mistaken.ended).toMatchObject({ code: 1, stderr: "" });
    for (const each of [good, mistaken]) await each.expectNothingLeft(20);
  });

  it("reports what was judged, and leaves nothing behind, not even the service, when SIGINT, SIGTERM or SIGHUP ends it", async () => {
    const endedBy = async (name: NodeJS.Signals) => {
      const { child, ended, booked, expectNothingLeft } = conformance("");
      // By then some rules are judged, and others are not.
      await eventually(async () => (await booked("made")).length > 20);
      // npm forwards to its child the signal that the terminal has already sent to all.
      spawn("sh", ["-c", `kill -s ${name.slice(3)} $0; kill -s ${name.slice(3)} $0`, String(child.pid)]);
      // When a terminal is closed, the shell may send SIGHUP again.
      if (name === "SIGHUP") setTimeout(() => child.kill(name), 1_200);
      const { code, stdout, stderr } = await ended;
      expect({ name, code }).toEqual({ name, code: 130 });
      expect(stdout).toMatch(
        / ✓ AUTH-01 [^]*\nStopped after \d+ of \d+ rules; the others are not judged\.\n/,
      );
      expect(stderr).toMatch(/^Stopping: what was installed is taken down first\. .*\n$/);
      await expectNothingLeft(20);
    };
    await Promise.all((["SIGINT", "SIGTERM", "SIGHUP"] as const).map(endedBy));
  });
});
