import type { KeyReport } from "../keys.ts";
import { examples, type AddCommand } from "./command.ts";
import { DONE, FAILED } from "./exit-codes.ts";
import type { Screen } from "./screen.ts";
import { table } from "./table.ts";
import { counted } from "./text.ts";

export const addKeys: AddCommand = (program, act) => {
  const keys = program.command("keys").description("the keys that seal what is stored");

  keys
    .command("reseal")
    .description("seal everything with ENCRYPTION_KEY, so that old keys can be dropped")
    .addHelpText("after", examples("kit keys reseal"))
    .action(
      act(async (session) => {
        const { neededKeys, resealAll } = await import("../keys.ts");
        const { db, vault } = await session.servicesWithoutKeys();
        const { onProgress } = session;
        const { report, unopened } = await resealAll({ db, vault, signal: session.stopSignal(), onProgress });
        const { count, messages } = unopened;
        for (const message of messages) session.say(`Left as it is: ${message}`);
        if (count > messages.length) session.say(`… and ${count - messages.length} more.`);
        const needed = neededKeys(report, vault);
        return {
          data: report,
          show: (screen) => show(screen, report, vault.keyId, needed ?? "No other key is in use."),
          exitCode: count > 0 || needed ? FAILED : DONE,
        };
      }),
    );
};

function show(screen: Screen, { resealed, byKey }: KeyReport, current: string, end: string): string {
  const list = table(
    screen,
    [
      { title: "KEY", of: ({ keyId }) => keyId },
      { title: "ROWS", of: ({ rows }) => String(rows) },
      { title: "", of: ({ keyId }) => (keyId === current ? "ENCRYPTION_KEY" : "") },
    ],
    byKey,
  );
  return [`${counted(resealed, "row")} resealed.`, ...(byKey.length > 0 ? [list] : []), end].join("\n");
}
