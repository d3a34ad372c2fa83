import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { startFleet } from "../../workshop/chaos/fleet.ts";
import { readOptions } from "../../workshop/chaos/options.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "chaos-fleet-"));
});
afterEach(() => rm(folder, { recursive: true }));

const aFleet = async (program: string) => {
  await writeFile(path.join(folder, "worker.js"), program);
  return startFleet({ names: ["worker-1"], settings: () => ({}), folder, programs: folder });
};

it("a process that exits at each start is started three times and then left stopped", async () => {
  const fleet = await aFleet("process.exit(78);");
  expect(fleet.unaskedEnds).toEqual(Array.from({ length: 3 }, () => ({ name: "worker-1", code: 78 })));
  await fleet.restart(fleet.members[0]!);
  expect(fleet.unaskedEnds).toHaveLength(6);
  expect(fleet.ports()).toEqual([]);
  await fleet.stop();
}, 30_000);

it("a fault is recorded for the process by name until it continues", async () => {
  const fleet = await aFleet(`console.log('{"msg":"Ready"}'); setInterval(() => {}, 1000);`);
  const [worker] = fleet.members;
  fleet.freeze(worker!);
  expect(fleet.freezes).toEqual([{ name: "worker-1", fromMs: expect.any(Number), toMs: Infinity }]);
  await fleet.kill(worker!);
  expect(fleet.freezes[0]!.toMs).toBeLessThan(Infinity);
  expect(fleet.kills).toEqual([{ name: "worker-1", atMs: expect.any(Number) }]);
  expect(worker!.isFrozen).toBe(false);
  await fleet.stop();
}, 30_000);

it.each([
  ["--minutes", "3m"],
  ["--minutes", "0"],
  ["--resources", "sixty"],
  ["--resources", "0"],
  ["--resources", "2.5"],
  ["--seed", ""],
])("npm run chaos refuses %s %s", (name, value) => {
  expect(() => readOptions([`${name}=${value}`])).toThrow(`${name} must be a`);
});

it("npm run chaos accepts valid options", () => {
  expect(readOptions(["--minutes", "0.5", "--seed", "42", "--resources", "7"])).toEqual({
    ...{ minutes: 0.5, seed: 42, resources: 7 },
  });
});
