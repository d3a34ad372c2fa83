import { jest } from "@jest/globals";
import { createProgress } from "../../../src/operator/commands/host.ts";

// The last line of a terminal, while a command works.

/** What the line shows after three seconds of work that has come so far. */
function shown(done: number, total: number): string {
  const texts: string[] = [];
  const stream = { isTTY: true, write: (text: string) => texts.push(text) > 0 };
  const progress = createProgress(stream as unknown as NodeJS.WriteStream, true);
  jest.useFakeTimers();
  progress.begin();
  progress.update(done, total);
  jest.advanceTimersByTime(3_000);
  const [line = ""] = texts.slice(-1);
  progress.end();
  jest.useRealTimers();
  return line;
}

it.each([
  [0, 0, "Working · 3s"],
  [1_234, 0, "1234 done · 3s"],
  [0, 10, "░░░░░░░░░░░░░░░░░░░░ 0 of 10 · 3s"],
  [199, 200, "███████████████████░ 199 of 200 · 3s"],
  [200, 200, "████████████████████ 200 of 200 · 3s"],
])("%i of %i is shown as it is, and 0 for a total that is not known", (done, total, line) => {
  expect(shown(done, total)).toBe(line);
});
