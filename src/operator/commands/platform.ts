import { typedUuid } from "../errors.ts";
import { appsOf, callPlatform, checkCall, masked } from "../platform-call.ts";
import type { KitCommand } from "./command.ts";
import { DONE, FAILED } from "./outcome.ts";
import { table } from "./table.ts";
import { counted, EXAMPLE_UUID, examples, jsonText, safe } from "./text.ts";

export function addApps(program: KitCommand): void {
  program
    .command("apps")
    .argument("<uuid>", "the resource", typedUuid)
    .description("the app a resource was installed on, and all it is attached to")
    .addHelpText("after", examples(`kit apps ${EXAMPLE_UUID}`))
    .does(async (session, uuid: string) => {
      const report = await appsOf(await session.context(), uuid);
      const { primary, attachments } = report;
      return {
        data: report,
        show: (screen) => {
          const rows = attachments.map(({ name, app }) => ({
            ...{ app: app.name, "attached as": name, "app id": app.id },
          }));
          const where = screen.paint.bold(safe(primary.name));
          return `Installed on ${where}, ${counted(attachments.length, "attachment")}.\n${table(screen, rows)}`;
        },
      };
    });
}

interface Options {
  resource: string;
  data?: string;
  reveal?: boolean;
}

export function addApi(program: KitCommand): void {
  program
    .command("api")
    .argument("<METHOD>", "GET, POST, PUT, PATCH or DELETE")
    .argument("<PATH>", "on the platform's API, from its first slash")
    .requiredOption("--resource <uuid>", "whose token is sent", typedUuid)
    .option("--data <json>", "the body; a GET has none")
    .option("--reveal", "show tokens, config values and other secrets of the answer")
    .description("any call to the platform's API; the answer is shown as it comes, but for secrets in it")
    .addHelpText("after", examples(`kit api GET /addons/${EXAMPLE_UUID} --resource ${EXAMPLE_UUID}`))
    .does(async (session, method: string, path: string, { resource: uuid, data, reveal }: Options) => {
      const call = { method, path, uuid, data };
      checkCall(call);
      const context = await session.context();
      const said = await callPlatform(context.platformFor, call);
      const answer = reveal ? said : await masked(context, call, said);
      const { status, body } = answer;
      return {
        data: answer,
        show: ({ paint }) => {
          const head = (status >= 400 ? paint.red : paint.green)(String(status));
          const text = typeof body === "string" ? body.split("\n").map(safe).join("\n") : jsonText(body, 2);
          return body === null ? head : `${head}\n${text}`;
        },
        exitCode: status >= 400 ? FAILED : DONE,
      };
    });
}
