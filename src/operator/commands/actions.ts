import { actionsBefore } from "../audit.ts";
import { typedUuid, UsedWrongly } from "../errors.ts";
import { runYourAction, yourActions } from "../your-actions.ts";
import { entryText, marked, table } from "./outcome.ts";
import { JSON_LINES, writeLines } from "./pages.ts";
import type { KitCommand } from "./session.ts";

export function addAction(program: KitCommand): void {
  program
    .command("action")
    .summary("what your service lets operators do")
    .argument("[name]", "the action; list shows all", "list")
    .argument("[uuid]", "the resource", typedUuid)
    .description("what your service lets an operator do to a resource")
    .does(async (session, name: string, uuid?: string) => {
      if (uuid === undefined && name !== "list")
        throw new UsedWrongly(`Name the resource, too: kit action ${name} UUID.`);
      if (uuid === undefined) {
        const all = yourActions(await session.openContext(session.settings()));
        const data = all.map(({ name: action, label, effect }) => ({ action, label, effect }));
        return { data, show: (paint) => (data.length > 0 ? table(paint, data) : "Your service has none.") };
      }
      const context = await session.context({ changes: true });
      const said = await runYourAction(context, name, uuid, session.how());
      return { data: { uuid, said }, message: said, show: (paint) => marked(paint, said) };
    });
}

export function cursor(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsedWrongly(`"${text}" is not a place in the audit trail: use the "next" of a page.`);
}

interface AuditOptions {
  resource?: string;
  after?: number | null;
  jsonLines?: boolean;
}

export function addAudit(program: KitCommand): void {
  program
    .command("audit")
    .summary("what operators did")
    .option("--resource <uuid>", "only what was done to this resource", typedUuid)
    .option("--after <cursor>", 'the next page: the "next" of the one before', cursor)
    .option(...JSON_LINES)
    .description("what operators did, here and on their pages: the newest first, 50 at a time")
    .does(async (session, { resource, after = null, jsonLines }: AuditOptions) => {
      const db = await session.database();
      if (jsonLines)
        return writeLines(session, after ?? Number.MAX_SAFE_INTEGER, async (before) => {
          const { entries: items, next } = await actionsBefore(db, before, resource);
          return { items, next };
        });
      const page = await actionsBefore(db, after, resource);
      const end = page.next === null ? [] : [`\nFor more, the same command with --after ${page.next}`];
      return {
        data: page,
        show: (paint) => [...page.entries.map((entry) => entryText(paint, entry)), ...end].join("\n"),
      };
    });
}
