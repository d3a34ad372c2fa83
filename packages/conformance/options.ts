import { Command, CommanderError } from "commander";

/** The options as given on the command line. */
export interface Options {
  url?: string;
  id?: string;
  password?: string;
  clientSecret?: string;
  ssoSalt?: string;
  plan?: string;
  otherPlan?: string;
  asyncPlan?: string;
  region?: string;
  manifest?: string;
  resourcesPath?: string;
  ssoPath: string;
  command?: string;
  platformPort?: string;
  platformHost: string;
  platformUrl?: string;
  patience?: string;
  grace?: string;
  tokenLife?: string;
  only: string[];
  list?: true;
  json?: true;
  junit?: string;
  html?: string;
  badge?: string;
}

/** The command line is wrong; the message says how to correct it. */
export class UsedWrongly extends Error {}

/**
 * Reads the arguments of the command line; null when only help was asked for, which is then printed. Throws
 * {@link UsedWrongly}.
 */
export function readOptions(words: readonly string[]): Options | null {
  const program = createProgram();
  try {
    program.parse(words, { from: "user" });
    return program.opts<Options>();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return null;
    throw new UsedWrongly(error.message.replace(/^error: /, ""));
  }
}

function createProgram(): Command {
  return new Command("conformance")
    .description("Plays the platform to a partner service, and says which rules of the protocol it keeps.")
    .option("--url <url>", "the service's address")
    .option("--id <id>", "the add-on's id, user name of the platform (else ADDON_ID)")
    .option("--command <command>", "starts the service with the settings it needs, and stops it at the end")
    .option("--plan <plan>", "the plan that is installed (else the manifest's, else basic)")
    .option("--other-plan <plan>", "the plan that is changed to (else the next one of the manifest)")
    .option("--async-plan <plan>", "a plan that is answered with 202")
    .option("--manifest <file>", "the add-on's manifest: plans, config vars (else ADDON_MANIFEST)")
    .option("--region <region>", "the region that is sent (else the manifest's first, else us)")
    .option("--resources-path <path>", "where the three calls arrive (else RESOURCES_PATH, else /resources)")
    .option("--sso-path <path>", "where a customer signs on", "/sso/login")
    .option("--platform-port <port>", "where the platform is played (else 4000; with --command any)")
    .option("--platform-host <host>", "on which of this machine's addresses", "127.0.0.1")
    .option("--platform-url <url>", "where your service finds it, if that is elsewhere")
    .option(
      "--patience <seconds>",
      "how long what comes later is waited for (30), and what may not come is watched for (3)",
    )
    .option("--grace <seconds>", "how long a started service may clean up before it is stopped (3)")
    .option("--token-life <seconds>", "how long tokens live whose refresh is watched (20)")
    .option("--only <rule...>", "these rules alone: AUTH-03, or AUTH for all that begin so", [])
    .option("--list", "print every rule and stop (with --json as one document)")
    .option("--json", "print one JSON document and nothing else")
    .option("--junit <file>", "write the report for a CI server too")
    .option("--html <file>", "write the report as a web page too")
    .option("--badge <file>", "write the result for a badge of shields.io too (endpoint)")
    .option("--password <password>", "better: ADDON_PASSWORD, or on standard input")
    .option("--client-secret <secret>", "better: CLIENT_SECRET")
    .option("--sso-salt <salt>", "better: SSO_SALT")
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .addHelpText("after", ENDING);
}

const ENDING = `
Your service has to call the platform that is played here. Either start it
yourself, with http://127.0.0.1:4000 as the platform's address, and run

  conformance --url http://127.0.0.1:3000 --id my-addon < password

or let it be started, with everything it needs in its environment (PORT,
ADDON_ID, ADDON_PASSWORD, CLIENT_SECRET, PLATFORM_API_URL, PLATFORM_AUTH_URL,
PLATFORM_STATUS_URL, RESOURCES_PATH, and SSO_SALT where one is given):

  conformance --command "python service.py" --plan small

Without the client secret, the first one that your service sends is taken for
it. Without a salt, sign-on is not applicable; without an --async-plan, neither
is asynchronous provisioning. What needs something else to work first is
skipped. Neither counts as passed, or as broken.

Exit codes: 0 every must-rule that could be judged holds, 1 one is broken,
nothing could be judged, the service could not be checked, or the checker itself
failed, 2 used wrongly, 130 stopped by a signal. Broken should-rules are
reported, and do not change it.`;
