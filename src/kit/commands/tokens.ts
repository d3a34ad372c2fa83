import { typedUuid, UsedWrongly } from "../../operator/errors.ts";
import { examples, type AddCommand } from "../command.ts";
import { DONE, FAILED } from "../exit-codes.ts";
import { showReport } from "../report.ts";

export const addTokens: AddCommand = (program, act) => {
  const tokens = program.command("tokens").description("the access tokens of resources");

  tokens
    .command("refresh")
    .argument("[uuid...]")
    .option("--all", "all resources that have working tokens")
    .description("get new access tokens now, due or not")
    .addHelpText(
      "after",
      examples("kit tokens refresh 01234567-89ab-cdef-0123-456789abcdef", "kit tokens refresh --all"),
    )
    .action(
      act(async (session, uuids: string[], { all = false }: { all?: boolean }) => {
        if (all === uuids.length > 0) throw new UsedWrongly("Name the resources by uuid, or say --all.");
        const { refreshAllTokens, refreshTokens } = await import("../../operator/tokens.ts");
        uuids.forEach(typedUuid);
        const { db, credentials, config } = await session.services();
        const { onProgress } = session;
        const needs = {
          db,
          credentials,
          concurrency: config.tokenConcurrency,
          signal: session.stopSignal(),
          onProgress,
        };
        const report = await (all ? refreshAllTokens(needs) : refreshTokens(needs, uuids));
        const exitCode = report.failed.length > 0 || needs.signal.aborted ? FAILED : DONE;
        return { data: report, show: (screen) => showReport(screen, report, "refreshed"), exitCode };
      }),
    );
};
