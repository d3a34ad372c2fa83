import { typedUuid, UsedWrongly } from "../errors.ts";
import { actionsBefore } from "../store.ts";
import type { KitCommand } from "./session.ts";
import { entryText } from "./resources.ts";

export function addAudit(program: KitCommand): void {
  program
    .command("audit")
    .option("--resource <uuid>", "only what was done to this resource", typedUuid)
    .option("--after <cursor>", 'the next page: the "next" of the one before')
    .description("what operators did, here and on their pages: the newest first, 50 at a time")
    .does(async (session, { resource, after }: { resource?: string; after?: string }) => {
      if (after !== undefined && !/^\d{1,15}$/.test(after))
        throw new UsedWrongly(`"${after}" is not a place in the audit trail: use the "next" of a page.`);
      const db = await session.database();
      const page = await actionsBefore(db, after === undefined ? null : Number(after), resource);
      const { entries, next } = page;
      const end = next === null ? [] : [`\nFor more, the same command with --after ${next}`];
      return {
        data: page,
        show: (screen) =>
          entries.length === 0
            ? "Nothing yet."
            : [...entries.map((entry) => entryText(screen, entry)), ...end].join("\n"),
      };
    });
}
