import type { Secret } from "../../secret.ts";
import type { SecretReport } from "../client-secret.ts";
import { examples, type AddCommand } from "./command.ts";
import { readStandardInput } from "./standard-input.ts";
import { counted } from "./text.ts";

export const addSecret: AddCommand = (program, act) => {
  const secret = program.command("secret").description("the OAuth client secret");

  secret
    .command("set")
    .option("--no-wait", "do not wait until all tokens are fresh")
    .option("--no-check", "do not ask the platform first whether it accepts the secret")
    .description("take over the client secret that the partner portal shows, from standard input")
    .addHelpText("after", examples("kit secret set < new-secret.txt", "kit secret set   (asks for it)"))
    .action(
      act(async (session, { wait, check }: { wait: boolean; check: boolean }) => {
        const { MOST_SECRET_BYTES: mostBytes, typedClientSecret } = await import("../typed-secret.ts");
        const value = typedClientSecret(
          await readStandardInput(session.host, "The new client secret", { mostBytes }),
        );
        const { setSecret, waitUntilFresh } = await import("../client-secret.ts");
        const { triedSecret } = await import("../secret-check.ts");
        const { checkOtherKeys } = await import("../unopened-secrets.ts");
        // This command is the remedy for stored secrets that do not open, so those must not keep it from running.
        const { db, vault, credentials, config } = await session.servicesWithoutKeys();
        await checkOtherKeys(db, vault);
        const ask = (secret: Secret) => triedSecret(config.platformAuthUrl, secret);
        const needs = { db, vault, credentials, known: config.clientSecret };
        const begun = await setSecret(needs, value, check ? ask : undefined);
        if (!wait) return { data: begun, show: () => inWords(begun, wait) };
        const { onProgress } = session;
        const report = await waitUntilFresh(
          { db, credentials, signal: session.stopSignal(), onProgress },
          begun,
        );
        return { data: report, show: () => inWords(report, wait) };
      }),
    );
};

function inWords({ version, due, fresh, unconfirmed }: SecretReport, hasWaited: boolean): string {
  const doubt = unconfirmed
    ? ` Whether the platform accepts it is not known: ${unconfirmed}. If tokens stay refused, compare it with the partner portal.`
    : "";
  const now = `The client secret is version ${version} now.${doubt}`;
  if (due === 0) return `${now} No token had to be refreshed.`;
  if (!hasWaited) return `${now} ${counted(due, "token")} fell due; a running service refreshes them.`;
  if (fresh === due) return `${now} ${counted(due, "token")} refreshed.`;
  return `${now} ${fresh} of ${counted(due, "token")} refreshed; for the others there is no working refresh token.\nSee them: kit resources list --state needs_reauth`;
}
