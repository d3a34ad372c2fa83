import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { devSettings } from "../../dev/settings.ts";
import { readEnvironment } from "../../src/environment.ts";

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(path.join(tmpdir(), "addon-test-"))));
afterEach(() => rm(folder, { recursive: true }));

it("npm run dev generates its secrets once, also for a database of yours, in .data unless DATA_DIR says otherwise", () => {
  const given = { DATA_DIR: "", DATABASE_URL: "postgresql://somewhere/db" };
  const [first, second] = [devSettings(given, folder), devSettings(given, folder)];
  expect([first.isFirstRun, second.isFirstRun, second.dataDir]).toEqual([true, false, ".data"]);
  expect(first.environment["ENCRYPTION_KEY"]).toMatch(/.{32}/);
  expect(second.environment).toEqual(first.environment);
});

it("the environment and .env override generated values, and are not copied", async () => {
  await writeFile(path.join(folder, ".env"), "ADDON_ID=kettles\nSANDBOX_PORT=4003\n");
  const { environment, overridden, keepAddresses, sandboxPort } = devSettings(
    { ADDON_PASSWORD: "from the environment" },
    folder,
  );
  keepAddresses();
  expect(overridden).toEqual(["ADDON_ID", "ADDON_PASSWORD"]);
  expect(environment).toMatchObject({ ADDON_ID: "kettles", ADDON_PASSWORD: "from the environment" });
  expect(await readFile(path.join(folder, ".data/dev.env"), "utf8")).not.toMatch(/kettles|from the env/);
  expect(sandboxPort).toBe(4003);
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
