import { typedUuid } from "../errors.ts";
import type { PlatformAnswer } from "../platform-call.ts";
import { EXAMPLE_UUID, examples, type AddCommand } from "./command.ts";
import { DONE, FAILED } from "./exit-codes.ts";
import type { Screen } from "./screen.ts";
import { jsonText, safe } from "./text.ts";

export const addApi: AddCommand = (program, act) => {
  program
    .command("api")
    .argument("<METHOD>", "GET, POST, PUT, PATCH or DELETE")
    .argument("<PATH>", "on the platform's API, from its first slash")
    .requiredOption("--resource <uuid>", "whose token is sent", typedUuid)
    .option("--data <json>", "the body; a GET has none")
    .option("--reveal", "show tokens, config values and other secrets of the answer")
    .description("any call to the platform's API; the answer is shown as it comes, but for secrets in it")
    .addHelpText("after", examples(`kit api GET /addons/${EXAMPLE_UUID} --resource ${EXAMPLE_UUID}`))
    .action(
      act(
        async (
          session,
          method: string,
          path: string,
          { resource, data, reveal = false }: { resource: string; data?: string; reveal?: boolean },
        ) => {
          const { callPlatform, checkCall, masked } = await import("../platform-call.ts");
          const call = { method, path, uuid: resource, data };
          checkCall(call);
          const services = await session.services();
          const said = await callPlatform(services.platformFor, call);
          const answer = reveal ? said : await masked(services, call, said);
          return {
            data: answer,
            show: (screen) => show(screen, answer),
            exitCode: answer.status >= 400 ? FAILED : DONE,
          };
        },
      ),
    );
};

function show({ paint }: Screen, { status, body }: PlatformAnswer): string {
  const head = (status >= 400 ? paint.red : paint.green)(String(status));
  if (body === null) return head;
  const text = typeof body === "string" ? body.split("\n").map(safe).join("\n") : jsonText(body, 2);
  return `${head}\n${text}`;
}
