import { typedUuid, UsedWrongly } from "../errors.ts";
import { actionsBefore } from "../store.ts";
import type { KitCommand } from "./session.ts";
import { entryText } from "./resources.ts";

function cursor(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsedWrongly(`"${text}" is not a place in the audit trail: use the "next" of a page.`);
}

export function addAudit(program: KitCommand): void {
  program
    .command("audit")
    .option("--resource <uuid>", "only what was done to this resource", typedUuid)
    .option("--after <cursor>", 'the next page: the "next" of the one before', cursor)
    .description("what operators did, here and on their pages: the newest first, 50 at a time")
    .does(async (session, { resource, after = null }: { resource?: string; after?: number | null }) => {
      const page = await actionsBefore(await session.database(), after, resource);
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
