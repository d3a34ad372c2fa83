import { settingsFromEnvironment } from "./environment.ts";
import { type LedgerEntry, startSandbox } from "./index.ts";

const USAGE = `Usage: addon-platform-sandbox [mcp]

Without a word it plays the platform, and prints each call.
mcp   an MCP server on standard input and output, by which an assistant acts as the customer and as the platform

Settings come from the environment; README.md lists them.`;

/**
 * The sandbox as a command: starts it with the settings of an environment, prints its calls, and closes it at a signal.
 * With the word `mcp` it serves an assistant instead. If it cannot start, prints the reason and sets the exit code to 1;
 * for words that it does not know, to 2.
 */
export async function runSandbox(environment: NodeJS.ProcessEnv, words: string[] = []): Promise<void> {
  const [word, ...more] = words;
  if (word === "--help" || word === "-h") return console.log(USAGE);
  if ((word !== undefined && word !== "mcp") || more.length > 0) {
    console.error(`The sandbox does not know ${words.join(" ")}.\n\n${USAGE}`);
    process.exitCode = 2;
    return;
  }
  try {
    // Loaded only for it: it takes as long as the rest of the sandbox.
    if (word === "mcp")
      (await import("./mcp/serve.ts")).serveMcp(environment, (entry) => tell(entry, console.error));
    else await start(environment);
  } catch (error) {
    console.error(`The sandbox cannot start: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}

async function start(environment: NodeJS.ProcessEnv): Promise<void> {
  const given = settingsFromEnvironment(environment);
  const { url, settings, close } = await startSandbox({
    ...given,
    onEntry: (entry) => tell(entry, console.log),
  });
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

function tell(
  { direction, method, path, response, ms, complaints = [] }: LedgerEntry,
  print: (line: string) => void,
): void {
  const arrow = direction === "in" ? "service → platform" : "platform → service";
  print(`${arrow}  ${method} ${path}  ${response?.status ?? "no answer"}  ${ms} ms`);
  for (const complaint of complaints) print(`    ${complaint}`);
}
