import type { Command } from "commander";
import { createAudit, type AuditEntry } from "../audit.ts";
import { typedUuid, UsedWrongly } from "../errors.ts";
import { EXAMPLE_UUID, examples } from "./examples.ts";
import type { Screen } from "./host.ts";
import type { Act } from "./session.ts";
import { moment, safe, wrapped } from "./text.ts";

export function addAudit(program: Command, act: Act): void {
  program
    .command("audit")
    .option("--resource <uuid>", "only what was done to this resource", typedUuid)
    .option("--after <cursor>", 'the next page: the "next" of the one before')
    .description(
      "what operators did, here and on their pages, and who came in: the newest first, 50 at a time",
    )
    .addHelpText("after", examples("kit audit", `kit audit --resource ${EXAMPLE_UUID}`))
    .action(
      act(async (session, { resource, after }: { resource?: string; after?: string }) => {
        if (after !== undefined && !/^\d{1,15}$/.test(after))
          throw new UsedWrongly(`"${after}" is not a place in the audit trail: use the "next" of a page.`);
        const audit = createAudit(await session.database());
        const page = resource
          ? { entries: await audit.ofResource(resource), next: null }
          : await audit.page(after === undefined ? null : Number(after));
        const { entries, next } = page;
        return {
          data: page,
          show: (screen) =>
            [
              ...(entries.length === 0 ? ["Nothing yet."] : entries.map((entry) => showEntry(screen, entry))),
              ...(next === null ? [] : [`\nThere are more:\nkit audit --after ${next}`]),
            ].join("\n"),
        };
      }),
    );
}

/** What was done, when, and how it ended; below, by whom, and what came of it. */
export function showEntry({ columns, paint }: Screen, entry: AuditEntry): string {
  const { action, uuid, operator, state, message, startedAt } = entry;
  const who = operator.address === null ? operator.name : `${operator.name} (${operator.address})`;
  const head = `${moment(startedAt.toISOString())}  ${state === "done" ? state : paint.red(state)}  `;
  const below = [who, uuid, message].filter(Boolean).join("; ");
  return wrapped(`${head}${paint.bold(safe(action))}\n${safe(below)}`, columns, "  ");
}
