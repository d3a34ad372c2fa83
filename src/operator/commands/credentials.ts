import { BULK_ACTIONS } from "../bulk-actions.ts";
import {
  MOST_SECRET_BYTES,
  secretInWords,
  setSecret,
  typedClientSecret,
  waitUntilFresh,
} from "../client-secret.ts";
import { resealAll, resealInWords } from "../keys.ts";
import { typedUuid, UsedWrongly } from "../errors.ts";
import type { KitCommand } from "./session.ts";
import { bulkOutcome, DONE, FAILED, onScreen } from "./outcome.ts";
import { example } from "./text.ts";

const OF_MANY = `
What is skipped is no failure (exit code 0). Stopped with Ctrl-C, it finishes
what was sent, and tells how many are left ("left" with --json).`;

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

export function addSecret(program: KitCommand): void {
  program
    .command("secret")
    .description("the OAuth client secret")
    .command("set")
    .option("--no-wait", "do not wait until all tokens are fresh")
    .option("--no-check", "do not ask the platform first whether it accepts the secret")
    .description("take over the client secret that the partner portal shows, from standard input")
    .addHelpText("after", example("kit secret set < new-secret.txt"))
    .does(async (session, { wait, check }: { wait: boolean; check: boolean }) => {
      const typed = await session.secret("The new client secret", MOST_SECRET_BYTES);
      const value = typedClientSecret(typed.reveal());
      const context = await session.context({ changes: true, keys: false });
      const begun = await setSecret(context, value, check);
      const report = wait ? await waitUntilFresh(context, begun, session.how()) : begun;
      const message = secretInWords(report);
      return { data: report, message, show: () => message };
    });
}

export function addKeys(program: KitCommand): void {
  program
    .command("keys")
    .description("the keys that seal what is stored")
    .command("reseal")
    .description("seal everything with ENCRYPTION_KEY, so that old keys can be dropped")
    .does(async (session) => {
      const context = await session.context({ changes: true, keys: false });
      const result = await resealAll(context, session.how());
      const message = resealInWords(result, context.vault);
      return {
        ...{ data: result.report, message, exitCode: result.isDone ? DONE : FAILED },
        show: (screen) => onScreen(screen, message),
      };
    });
}
