import { EXAMPLE_UUID, examples, STOPPED, type AddCommand } from "./command.ts";
import { DONE, FAILED } from "./exit-codes.ts";
import { namesOrAll } from "./names-or-all.ts";
import { showReport } from "./report.ts";

export const addGrants: AddCommand = (program, act) => {
  const grants = program.command("grants").description("the grants of resources that have no tokens");

  grants
    .command("recover")
    .argument("[uuid...]", "the resources; or --all")
    .option("--all", "all resources whose grant was lost or never came")
    .description("get lost grants again at the platform's oauth-grant endpoint, and exchange them")
    .addHelpText(
      "after",
      examples("kit grants recover --all", `kit grants recover ${EXAMPLE_UUID}`) + BEFORE + STOPPED,
    )
    .action(
      act(async (session, typed: string[], options: { all?: boolean }) => {
        const which = namesOrAll(typed, options);
        const { recoverAllGrants, recoverGrants, refuseUnlessOn } =
          await import("../grants/recover-grants.ts");
        refuseUnlessOn(session.settings(["legacyGrants"]).legacyGrants);
        const { db, credentials, recover, config } = await session.services();
        const needs = {
          ...{ db, credentials, recover },
          isOn: config.legacyGrants,
          concurrency: config.tokenConcurrency,
          signal: session.stopSignal(),
          onProgress: session.onProgress,
        };
        const { report, left } = await (which === "all"
          ? recoverAllGrants(needs)
          : recoverGrants(needs, which));
        session.sayWhatIsLeft(left, "The same command goes on.");
        return {
          data: left > 0 || needs.signal.aborted ? { ...report, left } : report,
          show: (screen) => showReport(screen, report, "recovered"),
          exitCode: report.failed.length + left > 0 ? FAILED : DONE,
        };
      }),
    );
};

const BEFORE = `

The platform keeps this endpoint closed until you ask for it: then set
LEGACY_GRANTS=on.`;
