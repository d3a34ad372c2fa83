import { spawnSync } from "node:child_process";
import path from "node:path";
import type { NamedTest } from "./mutant.ts";

/** `not run`: no test of that title was found, or its file did not load. */
export type Verdict = "passed" | "failed" | "not run";

const LONGEST_MS = 180_000;

/** Runs the tests of one title in one file of `folder`, a copy of the project. */
export function runTest(folder: string, { file, title }: NamedTest): Verdict {
  const literally = title.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const jest = path.join("node_modules", "jest", "bin", "jest.js");
  const { stdout } = spawnSync(
    process.execPath,
    ["--experimental-vm-modules", "--no-warnings", jest, "--json", "--forceExit", "--runTestsByPath", file, "-t", literally], // prettier-ignore
    {
      cwd: folder,
      encoding: "utf8",
      timeout: LONGEST_MS,
      maxBuffer: 64 * 1024 * 1024,
      killSignal: "SIGKILL",
    },
  );
  const result = JSON.parse(stdout || "{}") as Partial<Record<"numFailedTests" | "numPassedTests", number>>;
  if (result.numFailedTests) return "failed";
  return result.numPassedTests ? "passed" : "not run";
}
