import { settingsFromEnvironment } from "./environment.ts";
import { type LedgerEntry, startSandbox } from "./index.ts";

/**
 * The sandbox as a command: starts it with the settings of an environment, prints its calls, and closes it at a signal.
 * If it cannot start, prints the reason and sets the exit code to 1.
 */
export async function runSandbox(environment: NodeJS.ProcessEnv): Promise<void> {
  try {
    await start(environment);
  } catch (error) {
    console.error(`The sandbox cannot start: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}

async function start(environment: NodeJS.ProcessEnv): Promise<void> {
  const given = settingsFromEnvironment(environment);
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
  if (!given.token && settings.token !== null) console.log(`SANDBOX_TOKEN=${settings.token}`);
  if (!given.addonPassword)
    console.log(`ADDON_ID=${settings.addonId}\nADDON_PASSWORD=${settings.addonPassword}`);
  if (!given.clientSecret) console.log(`CLIENT_SECRET=${settings.clientSecret}`);
}

function tell({ direction, method, path, response, ms, complaints = [] }: LedgerEntry): void {
  const arrow = direction === "in" ? "service → platform" : "platform → service";
  console.log(`${arrow}  ${method} ${path}  ${response?.status ?? "no answer"}  ${ms} ms`);
  for (const complaint of complaints) console.log(`    ${complaint}`);
}
