import type { KeyReport } from "../../operator/keys.ts";
import { examples, type AddCommand } from "../command.ts";
import { DONE, FAILED } from "../exit-codes.ts";
import type { Screen } from "../screen.ts";
import { table } from "../table.ts";
import { counted } from "../text.ts";

export const addKeys: AddCommand = (program, act) => {
  const keys = program.command("keys").description("the keys that seal what is stored");

  keys
    .command("reseal")
    .description("seal everything with ENCRYPTION_KEY, so that old keys can be dropped")
    .addHelpText("after", examples("kit keys reseal"))
    .action(
      act(async (session) => {
        const { resealAll } = await import("../../operator/keys.ts");
        const { db, vault } = await session.servicesWithoutKeys();
        const { onProgress } = session;
        const { report, unopened } = await resealAll({ db, vault, signal: session.stopSignal(), onProgress });
        const { count, messages } = unopened;
        for (const message of messages) session.say(`Left as it is: ${message}`);
        if (count > messages.length) session.say(`… and ${count - messages.length} more.`);
        return {
          data: report,
          show: (screen) => show(screen, report, vault.keyId),
          exitCode: count + othersIn(report, vault.keyId) > 0 ? FAILED : DONE,
        };
      }),
    );
};

function show(screen: Screen, { resealed, byKey }: KeyReport, current: string): string {
  const list = table(
    screen,
    [
      { title: "KEY", of: ({ keyId }) => keyId },
      { title: "ROWS", of: ({ rows }) => String(rows) },
      { title: "", of: ({ keyId }) => (keyId === current ? "ENCRYPTION_KEY" : "") },
    ],
    byKey,
  );
  const end =
    othersIn({ byKey }, current) > 0
      ? "Some rows still need an older key: keep it in DECRYPTION_KEYS, and run this again."
      : "No other key is in use.";
  return [`${counted(resealed, "row")} resealed.`, ...(byKey.length > 0 ? [list] : []), end].join("\n");
}

/** How many keys but the current one still seal something: rows that were busy to the end, or that others sealed since. */
function othersIn({ byKey }: Pick<KeyReport, "byKey">, current: string): number {
  return byKey.filter(({ keyId }) => keyId !== current).length;
}
