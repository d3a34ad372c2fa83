import { existsSync } from "node:fs";
import { type LedgerEntry, startSandbox } from "./index.ts";
import { settingsFromEnvironment } from "./environment.ts";

// The sandbox as a command. Its settings come from the environment or from a `.env`; the environment wins.
if (existsSync(".env")) process.loadEnvFile(".env");
try {
  await start();
} catch (error) {
  console.error(`The sandbox cannot start: ${(error as Error).message}`);
  process.exitCode = 1;
}

async function start(): Promise<void> {
  const given = settingsFromEnvironment(process.env);
  const { url, settings, close } = await startSandbox({ ...given, onEntry: tell });
  // npm forwards to this process a signal that the terminal has also sent it: a second one must not end it before the
  // state is saved.
  let closing: Promise<void> | undefined;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => void (closing ??= close()));

  console.log(
    `The platform, played locally, on ${url}; it calls ${settings.partnerUrl}${settings.resourcesPath}.`,
  );
  // Credentials that nobody gave were generated, so they are printed here.
  if (!given.addonPassword)
    console.log(`ADDON_ID=${settings.addonId}\nADDON_PASSWORD=${settings.addonPassword}`);
  if (!given.clientSecret) console.log(`CLIENT_SECRET=${settings.clientSecret}`);
}

function tell({ direction, method, path, response, ms, complaints = [] }: LedgerEntry): void {
  const arrow = direction === "in" ? "service → platform" : "platform → service";
  console.log(`${arrow}  ${method} ${path}  ${response?.status ?? "no answer"}  ${ms} ms`);
  for (const complaint of complaints) console.log(`    ${complaint}`);
}
