import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { startFleet } from "../../workshop/chaos/fleet.ts";
import { readOptions } from "../../workshop/chaos/options.ts";

it("npm run chaos starts a process that exits at each start three times, and records faults by name", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "chaos-fleet-"));
  const aFleet = async (program: string) => {
    await writeFile(path.join(folder, "worker.js"), program);
    return startFleet({ names: ["worker-1"], settings: () => ({}), folder, programs: folder });
  };
  const failing = await aFleet("process.exit(78);");
  expect(failing.unaskedEnds).toEqual(Array.from({ length: 3 }, () => ({ name: "worker-1", code: 78 })));
  await failing.stop();

  const fleet = await aFleet(`console.log('{"msg":"Ready"}'); setInterval(() => {}, 1000);`);
  const [worker] = fleet.members;
  fleet.freeze(worker!);
  expect(fleet.freezes).toEqual([{ name: "worker-1", fromMs: expect.any(Number), toMs: Infinity }]);
  await fleet.kill(worker!);
  expect(fleet.freezes[0]!.toMs).toBeLessThan(Infinity);
  expect(fleet.kills).toEqual([{ name: "worker-1", atMs: expect.any(Number) }]);
  await fleet.stop();
  await rm(folder, { recursive: true });
});

it("npm run chaos takes valid options only", () => {
  expect(readOptions(["--minutes", "0.5", "--seed", "42", "--resources", "7"])).toEqual({
    ...{ minutes: 0.5, seed: 42, resources: 7 },
  });
  for (const word of ["--minutes=3m", "--minutes=0", "--resources=2.5", "--seed="])
    expect(() => readOptions([word])).toThrow(`${word.split("=")[0]} must be a`);
});
