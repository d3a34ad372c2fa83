import { secretInWords, setSecret, typedClientSecret, waitUntilFresh } from "../client-secret.ts";
import { resealAll, resealInWords } from "../keys.ts";
import { DONE, example, FAILED, marked } from "./outcome.ts";
import type { KitCommand } from "./session.ts";

export function addSecret(program: KitCommand): void {
  program
    .command("secret")
    .description("the OAuth client secret")
    .command("set")
    .option("--no-wait", "do not wait until all tokens are fresh")
    .description("set the client secret that the partner portal shows, from standard input")
    .addHelpText("after", example("kit secret set < new-secret.txt"))
    .does(async (session, { wait }: { wait: boolean }) => {
      const value = typedClientSecret((await session.secret("The new client secret")).reveal());
      const context = await session.context({ changes: true, keys: false });
      const begun = await setSecret(context, value);
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
      const message = resealInWords(result, context);
      return {
        data: result.report,
        message,
        exitCode: result.isDone ? DONE : FAILED,
        show: (paint) => marked(paint, message),
      };
    });
}
