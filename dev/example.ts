import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { type Settings, settingsIn } from "../src/setting.ts";
import { CHECK_ENV } from "./check-settings.ts";
import { sandboxValues, SETTINGS_FILES, withoutSettings } from "./settings-files.ts";

// A service of examples/, or another folder like it, in the place of the one in the repository of the working folder.

const YOURS = "src/your-service";
const TESTS = "test/your-service";
/** Of the tests, the one that is true of every service. */
const KEPT = "app-json.test.ts";

/** The folder in `from` that has the service; null if there is none. */
export function serviceIn(from: string): string | null {
  const folders = [path.join(from, "your-service"), from];
  return folders.find((folder) => existsSync(path.join(folder, "index.ts"))) ?? null;
}

/** The id that a service has in its `plans.ts`. */
export function idOf(service: string): string | undefined {
  const file = path.join(service, "plans.ts");
  return /^export const addonId = "(.+)"/m.exec(existsSync(file) ? readFileSync(file, "utf8") : "")?.[1];
}

/** Puts `service` in the place of the present one, with a test that it starts in the place of the tests of that. */
export function takeOver(service: string): void {
  rmSync(YOURS, { recursive: true });
  cpSync(service, YOURS, {
    recursive: true,
    // Of a service that was tried where it lies, the client that was generated there.
    filter: (file) => path.relative(service, file) !== "client",
  });
  for (const file of existsSync(TESTS) ? readdirSync(TESTS) : [])
    if (file !== KEPT) rmSync(path.join(TESTS, file), { recursive: true });
  writeFileSync(path.join(TESTS, "service.test.ts"), FIRST_TEST);
}

/**
 * The texts of the files of a deployment, with the settings of the service that is there now, and without those `before`.
 * Throws if its `settings.ts` cannot be loaded.
 */
export async function settingsListed(before: Settings): Promise<Map<string, string>> {
  const file = pathToFileURL(path.resolve(YOURS, "settings.ts")).href;
  const { yourSettings } = (await import(`${file}?now`)) as { yourSettings: Settings };
  const now = settingsIn(yourSettings);
  const gone = settingsIn(before).filter(({ name }) => !now.some((each) => each.name === name));
  const texts = new Map<string, string>();
  for (const [name, listed] of Object.entries(SETTINGS_FILES))
    texts.set(name, listed(withoutSettings(name, readFileSync(name, "utf8"), gone), now));
  const values = sandboxValues(now);
  if (values !== "" && !existsSync(CHECK_ENV)) texts.set(CHECK_ENV, CHECK_HEAD + values);
  return texts;
}

const CHECK_HEAD = `# The settings of your own that npm run check starts the service with, for its demo and conformance. Put a product here that
# may be thrown away: these values are made up. What the environment sets wins.
`;

const FIRST_TEST = `import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { plansOnSale } from "../../src/offer.ts";
import { offer } from "../../src/your-service/plans.ts";
import { aWorld, opened } from "../support/world.ts";

// The first test of your service: that it starts. docs/test-it.md says how to install, to let time pass, and to run a job.
const file = new URL("check.env", import.meta.url);
const world = opened(() =>
  aWorld({ sells: "yours", environment: existsSync(file) ? parseEnv(readFileSync(file, "utf8")) : {} }),
);

it("starts with its settings, and the platform sells its plans", async () => {
  const { addonManifest } = world.sandbox.settings;
  expect(addonManifest?.plans.map(({ name }) => name)).toEqual(plansOnSale(offer).map(([name]) => name));
  expect((await fetch(\`\${world.service.url}/readyz\`)).status).toBe(200);
});
`;
