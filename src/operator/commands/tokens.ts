import { EXAMPLE_UUID, examples, STOPPED, type AddCommand } from "./command.ts";
import { DONE, FAILED } from "./exit-codes.ts";
import { namesOrAll } from "./names-or-all.ts";
import { showReport } from "./report.ts";

export const addTokens: AddCommand = (program, act) => {
  const tokens = program.command("tokens").description("the access tokens of resources");

  tokens
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
        const { refreshAllTokens, refreshTokens } = await import("../tokens.ts");
        const { db, credentials, config } = await session.services();
        const { onProgress } = session;
        const needs = {
          db,
          credentials,
          concurrency: config.tokenConcurrency,
          signal: session.stopSignal(),
          onProgress,
        };
        const report = await (which === "all" ? refreshAllTokens(needs) : refreshTokens(needs, which));
        const { failed, left = 0 } = report;
        session.sayWhatIsLeft(left, "The same command begins anew.");
        const exitCode = failed.length + left > 0 ? FAILED : DONE;
        return { data: report, show: (screen) => showReport(screen, report, "refreshed"), exitCode };
      }),
    );
};
