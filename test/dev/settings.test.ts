import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { devSettings } from "../../dev/settings.ts";
import { readEnvironment } from "../../src/environment.ts";

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(path.join(tmpdir(), "addon-test-"))));
afterEach(() => rm(folder, { recursive: true }));

it("npm run dev generates its secrets once", () => {
  const first = devSettings({}, folder);
  const second = devSettings({}, folder);
  expect([first.isFirstRun, second.isFirstRun]).toEqual([true, false]);
  expect(second.environment).toEqual(first.environment);
});

it("npm run dev keeps them in the default folder when DATA_DIR is empty", () => {
  const { dataDir } = devSettings({ DATA_DIR: "" }, folder);
  expect(dataDir).toBe(".data");
  expect(existsSync(path.join(folder, dataDir, "dev.env"))).toBe(true);
  expect(existsSync(path.join(folder, "dev.env"))).toBe(false);
});

it("the environment and .env override generated values, and are not copied", async () => {
  await writeFile(path.join(folder, ".env"), "ADDON_ID=kettles\n");
  const { environment, overridden, keepAddresses } = devSettings(
    { ADDON_PASSWORD: "from the environment" },
    folder,
  );
  keepAddresses();
  expect(overridden).toEqual(["ADDON_ID", "ADDON_PASSWORD"]);
  expect(environment).toMatchObject({ ADDON_ID: "kettles", ADDON_PASSWORD: "from the environment" });
  expect(await readFile(path.join(folder, ".data/dev.env"), "utf8")).not.toMatch(
    /kettles|from the environment/,
  );
});

it("the sandbox's port is read from .env too", async () => {
  await writeFile(path.join(folder, ".env"), "SANDBOX_PORT=4003\n");
  expect(devSettings({}, folder).sandboxPort).toBe(4003);
  expect(devSettings({ SANDBOX_PORT: "4004" }, folder).sandboxPort).toBe(4004);
});

it("commands of kit get the platform's address once it listens", () => {
  devSettings({ SANDBOX_PORT: "4001" }, folder);
  const moved = devSettings({ SANDBOX_PORT: "4002" }, folder);
  const address = () => readEnvironment({}, folder)["PLATFORM_API_URL"];
  expect(address()).toBe("http://127.0.0.1:4001");
  moved.keepAddresses();
  expect(address()).toBe("http://127.0.0.1:4002");
});

it("secrets are generated for a database of yours too", () => {
  const { environment } = devSettings({ DATABASE_URL: "postgresql://somewhere/db" }, folder);
  const again = devSettings({ DATABASE_URL: "postgresql://somewhere/db" }, folder);
  expect(environment["ENCRYPTION_KEY"]).toBeDefined();
  expect(again.environment["ENCRYPTION_KEY"]).toBe(environment["ENCRYPTION_KEY"]);
});
