import type { Command } from "commander";
import type { OpenContext } from "../../open-context.ts";
import type { Secret } from "../../secret.ts";
import { setSecret, waitUntilFresh, type SecretReport } from "../client-secret.ts";
import { recoverAllGrants, recoverGrants, refuseUnlessOn } from "../grants/recover-grants.ts";
import { neededKeys, resealAll } from "../keys.ts";
import { triedSecret } from "../secret-check.ts";
import { refreshAllTokens, refreshTokens } from "../tokens.ts";
import { MOST_SECRET_BYTES, typedClientSecret } from "../typed-secret.ts";
import { checkOtherKeys } from "../unopened-secrets.ts";
import { EXAMPLE_UUID, examples, STOPPED } from "./examples.ts";
import { DONE, FAILED } from "./outcome.ts";
import { bulkOutcome, namesOrAll } from "./report.ts";
import type { Act, Session } from "./session.ts";
import { table } from "./table.ts";
import { counted } from "./text.ts";

export function addTokens(program: Command, act: Act): void {
  program
    .command("tokens")
    .description("the access tokens of resources")
    .command("refresh")
    .argument("[uuid...]", "the resources; or --all")
    .option("--all", "all resources that have working tokens")
    .description("get new access tokens now, due or not")
    .addHelpText(
      "after",
      examples(`kit tokens refresh ${EXAMPLE_UUID}`, "kit tokens refresh --all") + STOPPED,
    )
    .action(
      act(async (session, typed: string[], options: { all?: boolean }) => {
        const which = namesOrAll(typed, options);
        const context = await session.context();
        const needs = { ...context, ...bulk(session, context) };
        const report = await (which === "all" ? refreshAllTokens(needs) : refreshTokens(needs, which));
        session.sayWhatIsLeft(report.left, "The same command begins anew.");
        return bulkOutcome(report, "refreshed");
      }),
    );
}

export function addGrants(program: Command, act: Act): void {
  program
    .command("grants")
    .description("the grants of resources that have no tokens")
    .command("recover")
    .argument("[uuid...]", "the resources; or --all")
    .option("--all", "all resources whose grant was lost or never came")
    .description("get lost grants again at the platform's oauth-grant endpoint, and exchange them")
    .addHelpText(
      "after",
      `${examples("kit grants recover --all", `kit grants recover ${EXAMPLE_UUID}`)}

The platform keeps this endpoint closed until you ask for it: then set
LEGACY_GRANTS=on.${STOPPED}`,
    )
    .action(
      act(async (session, typed: string[], options: { all?: boolean }) => {
        const which = namesOrAll(typed, options);
        const { legacyGrants: isOn } = session.settings(["legacyGrants"]);
        refuseUnlessOn(isOn);
        const context = await session.context();
        const needs = { ...context, ...bulk(session, context), isOn };
        const { report, left } = await (which === "all"
          ? recoverAllGrants(needs)
          : recoverGrants(needs, which));
        session.sayWhatIsLeft(left, "The same command goes on.");
        return bulkOutcome(left > 0 || needs.signal.aborted ? { ...report, left } : report, "recovered");
      }),
    );
}

/** What work on many resources needs beside the parts of the service. */
export function bulk(session: Session, { config }: Pick<OpenContext, "config">) {
  const { onProgress } = session;
  return { concurrency: config.tokenConcurrency, signal: session.stopSignal(), onProgress };
}

export function addSecret(program: Command, act: Act): void {
  program
    .command("secret")
    .description("the OAuth client secret")
    .command("set")
    .option("--no-wait", "do not wait until all tokens are fresh")
    .option("--no-check", "do not ask the platform first whether it accepts the secret")
    .description("take over the client secret that the partner portal shows, from standard input")
    .addHelpText("after", examples("kit secret set < new-secret.txt", "kit secret set   (asks for it)"))
    .action(
      act(async (session, { wait, check }: { wait: boolean; check: boolean }) => {
        const typed = await session.secret("The new client secret", MOST_SECRET_BYTES);
        const value = typedClientSecret(typed.reveal());
        // This command is the remedy for stored secrets that cannot be decrypted, so those must not keep it from running.
        const context = await session.contextWithoutKeys();
        await checkOtherKeys(context.db, context.vault);
        const ask = (secret: Secret) => triedSecret(context.config.platformAuthUrl, secret);
        const needs = { ...context, known: context.config.clientSecret };
        const begun = await setSecret(needs, value, check ? ask : undefined);
        if (!wait) return { data: begun, show: () => inWords(begun, wait) };
        const { onProgress } = session;
        const report = await waitUntilFresh({ ...context, signal: session.stopSignal(), onProgress }, begun);
        return { data: report, show: () => inWords(report, wait) };
      }),
    );
}

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

export function addKeys(program: Command, act: Act): void {
  program
    .command("keys")
    .description("the keys that seal what is stored")
    .command("reseal")
    .description("seal everything with ENCRYPTION_KEY, so that old keys can be dropped")
    .addHelpText("after", examples("kit keys reseal"))
    .action(
      act(async (session) => {
        const { db, vault } = await session.contextWithoutKeys();
        const { onProgress } = session;
        const { report, unopened } = await resealAll({ db, vault, signal: session.stopSignal(), onProgress });
        const { count, messages } = unopened;
        for (const message of messages) session.say(`Left as it is: ${message}`);
        if (count > messages.length) session.say(`… and ${count - messages.length} more.`);
        const needed = neededKeys(report, vault);
        return {
          data: report,
          exitCode: count > 0 || needed ? FAILED : DONE,
          show: (screen) => {
            const rows = report.byKey.map(({ keyId: key, rows }) => ({
              ...{ key, rows: String(rows), "": key === vault.keyId ? "ENCRYPTION_KEY" : "" },
            }));
            const list = rows.length > 0 ? [table(screen, rows)] : [];
            const end = needed ?? "No other key is in use.";
            return [`${counted(report.resealed, "row")} resealed.`, ...list, end].join("\n");
          },
        };
      }),
    );
}
