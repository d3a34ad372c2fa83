// A run removes everything that it created at a service before it ends, however it ends; and shows that.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { programOnTerminal } from "../kit/terminal.ts";
import { eventually } from "../support/world.ts";

const at = (place: string) => fileURLToPath(new URL(place, import.meta.url));
const SERVICE = `exec ${process.execPath} ${at("foreign-service.mjs")}`;
const CTRL_C = "\u0003";
const JUDGED_BY = ["AUTH", "PROV", "REQ", "IDEM", "PLAN-01", "DEPR-01", "DEPR-04", "TOMB"];

let folder: string;
let book: string;
beforeAll(async () => void (folder = await mkdtemp(path.join(tmpdir(), "conformance-"))));
afterAll(() => rm(folder, { recursive: true }));
beforeEach(() => writeFile((book = path.join(folder, "book")), ""));

const words = (only: readonly string[]) => [
  ...["--import", "tsx", at("../../dev/conformance.ts"), "--command", SERVICE],
  ...["--plan", "small", "--other-plan", "large", "--token-life", "3", "--only", ...only],
];
const environment = (foreign: string) => ({
  ...{ PATH: process.env["PATH"]!, BOOK: book, FOREIGN: foreign },
});

function conformance(foreign: string, only: readonly string[] = JUDGED_BY, more: readonly string[] = []) {
  const child = spawn(process.execPath, [...words(only), ...more], { env: environment(foreign) });
  child.stdin.end();
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]).then(
    ([stdout, stderr, [code]]) => ({ code: code as number | null, stdout, stderr }),
  );
  return { child, ended };
}

/** The uuids that the service created, and those that it removed. */
async function booked() {
  const lines = (await readFile(book, "utf8")).trim().split("\n");
  const of = (what: string) =>
    [...new Set(lines.filter((line) => line.startsWith(what)).map((line) => line.slice(5)))].sort();
  return { made: of("made"), gone: of("gone") };
}

async function expectNothingLeft(atLeast = 1): Promise<void> {
  const { made, gone } = await booked();
  expect(made.length).toBeGreaterThanOrEqual(atLeast);
  expect(gone).toEqual(made);
}

describe("npm run conformance", () => {
  it.each([
    ["a good service", "good", 0],
    ["one with a mistake, which broke a rule", "", 1],
  ])("leaves nothing behind at %s, whoever stops it", async (_, foreign, exitCode) => {
    // Resources that the service wrongly created count too.
    const { code, stderr } = await conformance(foreign).ended;
    expect({ code, stderr }).toEqual({ code: exitCode, stderr: "" });
    await expectNothingLeft(20);
  });

  it("lists what the service does not remove", async () => {
    const { code, stdout } = await conformance("lets nothing go", ["PROV-01"]).ended;
    expect(code).toBe(0);
    const { made } = await booked();
    const shown = stdout.replace(/\s+/g, " ");
    expect(shown).toContain(`Left at your service, which did not let go of them: ${made.join(", ")}.`);
    const { stdout: json } = await conformance("lets nothing go", ["PROV-01"], ["--json"]).ended;
    expect(JSON.parse(json)).toMatchObject({ ok: true, left: [expect.any(String)] });
  });

  it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "leaves nothing behind, not even the service, when a %s ends it",
    async (name) => {
      const { child, ended } = conformance("");
      await eventually(async () => (await booked()).made.length > 5);
      child.kill(name);
      // npm forwards to its child the signal that the terminal has already sent to all.
      setTimeout(() => child.kill(name), 5);
      // When a terminal is closed, the shell may send SIGHUP again.
      if (name === "SIGHUP") setTimeout(() => child.kill(name), 1_200);
      const { code, stdout, stderr } = await ended;
      expect({ code, stdout }).toEqual({ code: 130, stdout: "" });
      expect(stderr).toMatch(
        /^Stopping: what was installed is taken down first\. [^]+\n✗ Stopped: nothing is judged\.\n$/,
      );
      await expectNothingLeft(5);
    },
  );

  it("stops a service that is still starting, and says so in JSON too", async () => {
    const started = path.join(folder, "started");
    const command = `echo $$ > ${started}; exec sleep 600`;
    const args = ["--import", "tsx", at("../../dev/conformance.ts"), "--command", command, "--json"];
    const child = spawn(process.execPath, args, { env: environment("") });
    const stdout = text(child.stdout);
    const pid = await eventually(async () => Number(await readFile(started, "utf8")) || null);
    child.kill("SIGINT");
    const [code] = (await once(child, "close")) as [number];
    expect({ code, said: JSON.parse(await stdout) as object }).toMatchObject({
      code: 130,
      said: { id: "interrupted" },
    });
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });
});

describe("the progress bar of npm run conformance", () => {
  const onTerminal = (only: readonly string[]) =>
    programOnTerminal(words(only), { environment: environment("good"), folder: at("../..") });

  it("counts the rules, and leaves only the report", async () => {
    const { code, sent, screen } = await onTerminal(["AUTH-01", "AUTH-02", "PROV-01", "DEPR-06"]).ended();
    expect(code).toBe(0);
    expect(sent).toMatch(/█░+ 3 of 4 rules · \d+s/);
    expect(screen[0]).toBe("Authentication");
    expect(screen.filter((line) => /[█░]/.test(line))).toEqual([]);
    // Hidden cursors and lines that are cut would stay after a Ctrl-C.
    expect(sent).not.toMatch(/\[\?/);
  });

  it("is cleared for the message when the run is stopped", async () => {
    const terminal = onTerminal(["AUTH-01", "AUTH-02", "PROV-01", "DEPR-06"]);
    await terminal.type(CTRL_C, /█░+ 3 of 4 rules/);
    const { code, screen } = await terminal.ended();
    expect(code).toBe(130);
    expect(screen).toEqual([
      expect.stringMatching(
        /^(\^C)?Stopping: what was installed is taken down first\. Ctrl-C again stops at once\.$/,
      ),
      "✗ Stopped: nothing is judged.",
    ]);
    await expectNothingLeft();
  });

  it("does not prevent the clean-up when the terminal is closed", async () => {
    await onTerminal(["AUTH-01", "AUTH-02", "PROV-01", "DEPR-06"]).hangUp(/█░+ 3 of 4 rules/);
    await eventually(() => expectNothingLeft().then(() => true), 20_000);
  });
});
