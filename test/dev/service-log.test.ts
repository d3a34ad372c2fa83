import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it } from "@jest/globals";
import { openServiceLog } from "../../dev/service-log.ts";

const folder = await mkdtemp(path.join(tmpdir(), "service-log-"));
afterAll(() => rm(folder, { recursive: true }));

it("the output of npm run dev shows the cause of a warning, whatever was thrown", async () => {
  const told: string[] = [];
  const file = path.join(folder, "service.log");
  const log = openServiceLog(file, (_at, _isError, text) => told.push(text));
  const line = (error: unknown) =>
    log.write(`${JSON.stringify({ level: "warn", time: "2026-01-31T12:00:00Z", msg: "Failed", error })}\n`);
  line({ message: "an error's message" });
  line("a text that was thrown");
  line(undefined);
  log.write('{"level":"info","msg":"all is well"}\n');
  await log.close();
  expect(told).toEqual(["Failed: an error's message", "Failed: a text that was thrown", "Failed"]);
  expect((await readFile(file, "utf8")).split("\n")).toHaveLength(5);
});
