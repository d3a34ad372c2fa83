import { existsSync } from "node:fs";
import { type LedgerEntry, startSandbox } from "./index.ts";
import { settingsFromEnvironment } from "./settings.ts";

/** The sandbox as a command: settings from the environment or from a `.env`; the environment wins. */
if (existsSync(".env")) process.loadEnvFile(".env");
const given = settingsFromEnvironment(process.env);
const sandbox = await startSandbox({ ...given, onEntry: tell });
const { settings } = sandbox;
console.log(
  `The platform, played locally, on ${sandbox.url}; it calls ${settings.partnerUrl}${settings.resourcesPath}.`,
);
if (!given.addonPassword)
  console.log(`ADDON_ID=${settings.addonId}\nADDON_PASSWORD=${settings.addonPassword}`);
if (!given.clientSecret) console.log(`CLIENT_SECRET=${settings.clientSecret}`);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void sandbox.close());
}

function tell({ direction, method, path, response, ms, complaints = [] }: LedgerEntry): void {
  const arrow = direction === "in" ? "service → platform" : "platform → service";
  console.log(`${arrow}  ${method} ${path}  ${response?.status ?? "no answer"}  ${ms} ms`);
  for (const complaint of complaints) console.log(`    ${complaint}`);
}
