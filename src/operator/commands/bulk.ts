import { BULK_ACTIONS } from "../bulk-actions.ts";
import { typedUuid, UsedWrongly } from "../errors.ts";
import { bulkOutcome } from "./outcome.ts";
import type { KitCommand } from "./session.ts";

const OF_MANY = `
What is skipped is no failure (exit code 0). Stopped with Ctrl-C, it finishes
what was sent, and tells how many are left ("left" with --json).`;

/** What is done to one resource, to several, or to all. */
export function addBulk(program: KitCommand): void {
  const groups: Record<string, KitCommand> = {};
  for (const { group, about = "", verb, does, all, doneWord, question, work } of BULK_ACTIONS) {
    const home = group ? (groups[group] ??= program.command(group).description(about)) : program;
    const command = home
      .command(verb)
      .argument("[uuid...]", "the resources; or --all")
      .option("--all", all)
      .description(does)
      .addHelpText("after", OF_MANY)
      .does(async (session, typed: string[], options: { all?: boolean; yes?: boolean }) => {
        const { all: isAll = false } = options;
        if (isAll === typed.length > 0) throw new UsedWrongly("Name the resources by uuid, or say --all.");
        const which = isAll ? "all" : typed.map(typedUuid);
        if (question && !options.yes) await session.confirm(question);
        const context = await session.context({ changes: true });
        return bulkOutcome(await work(context, which, session.how()), doneWord);
      });
    if (question) command.option("--yes", "do not ask");
  }
}
