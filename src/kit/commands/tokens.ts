import type { TokenReport } from "../../operator/tokens.ts";
import { typedUuid, UsedWrongly } from "../../operator/errors.ts";
import { examples, type AddCommand } from "../command.ts";
import { DONE, FAILED } from "../exit-codes.ts";
import type { Screen } from "../screen.ts";
import { safe, wrapped } from "../text.ts";

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
        return { data: report, show: (screen) => show(screen, report), exitCode };
      }),
    );
};

/** So many of a list are told one by one; --json tells all. */
const MOST_TOLD = 20;

function show({ columns, paint }: Screen, { done, failed, skipped }: TokenReport): string {
  const lines = [
    ...some(
      failed,
      ({ uuid, message }) => `${paint.red("✗")} ${uuid}\n    ${wrapped(safe(message), columns, "    ")}`,
    ),
    ...some(skipped, ({ uuid, reason }) => `${paint.yellow("–")} ${uuid}  skipped: ${reason}`),
  ];
  const end = `${done.length} refreshed, ${failed.length} failed, ${skipped.length} skipped.`;
  return [...lines, end].join("\n");
}

function some<Item>(items: readonly Item[], tell: (item: Item) => string): string[] {
  const told = items.slice(0, MOST_TOLD).map(tell);
  return items.length > MOST_TOLD
    ? [...told, `  … and ${items.length - MOST_TOLD} more (--json tells all)`]
    : told;
}
