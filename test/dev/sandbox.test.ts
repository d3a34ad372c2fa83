import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { devSettings } from "../../dev/settings.ts";
import { freePorts, run, stateOf } from "./dev-run.ts";

let folder: string;
beforeEach(async () => void (folder = path.relative(".", await mkdtemp(path.join(tmpdir(), "addon-test-")))));
afterEach(() => rm(folder, { recursive: true }));

it("the sandbox alone knows the plans, and the credentials that npm run dev made", async () => {
  const ports = await freePorts();
  devSettings({ DATA_DIR: folder });
  const { until, end } = run("sandbox", { ...ports, DATA_DIR: folder });
  const output = await until(`it calls http://localhost:${ports.PORT}/resources`);
  expect(output).not.toMatch(/ADDON_PASSWORD|CLIENT_SECRET/);
  const { settings } = await stateOf(ports);
  expect(settings.addonManifest?.plans.map(({ name }) => name)).toEqual(["basic", "premium", "dedicated"]);
  expect(await end("SIGINT")).toBe(0);
});
