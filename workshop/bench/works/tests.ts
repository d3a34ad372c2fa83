import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { median } from "../contest.ts";
import type { Work } from "./work.ts";

const PROJECT = fileURLToPath(new URL("../../../", import.meta.url));
/** So many rounds took one processor of 2026 a second. */
const ROUNDS = 66;

/**
 * `npm test` on all processors and a PostgreSQL of its own, as a multiple of a fixed piece of work on one processor, which
 * is done before and after: on a machine that is slow, or busy with others, both take longer.
 */
export const tests: Work = {
  name: "npm-test",
  isOnlyWhenNamed: true,
  async measure({ onAllProcessors }) {
    const fixed = [fixedWork(), fixedWork(), fixedWork()];
    const subject = await secondsOfTests([...onAllProcessors, "npm", "test"]);
    fixed.push(fixedWork(), fixedWork(), fixedWork());
    const value = median(fixed);
    const floor = { name: "a fixed piece of work", value };
    return [{ work: "npm test", unit: "s", subject, floor, ratio: subject / value, target: { atMost: 150 } }];
  },
};

/** Texts, hashes, objects and sorting, as in a test run. Returns the seconds that it took. */
function fixedWork(): number {
  const startedAt = performance.now();
  let text = "";
  for (let round = 0; round < ROUNDS; round++) {
    const entries = Array.from({ length: 2_000 }, (_, at) => {
      const hash = createHash("sha256").update(`${round} ${at} ${text.length}`).digest("hex");
      return { name: hash, at, parts: hash.match(/.{4}/g) };
    });
    const sorted = entries.sort((one, other) => (one.name < other.name ? -1 : 1));
    text = JSON.stringify(JSON.parse(JSON.stringify(sorted)));
  }
  return (performance.now() - startedAt) / 1_000;
}

async function secondsOfTests([command, ...words]: string[]): Promise<number> {
  const { TEST_DATABASE_URL: _, ...env } = process.env;
  const startedAt = performance.now();
  const child = spawn(command!, words, { cwd: PROJECT, env, stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (text: Buffer) => (printed = (printed + text.toString()).slice(-10_000)));
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`npm test ended with ${code}:\n${printed}`);
  return (performance.now() - startedAt) / 1_000;
}
