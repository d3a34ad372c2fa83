import { parsedJson } from "../../values.ts";
import { typedUuid, UsedWrongly } from "../errors.ts";
import { appsOf, callPlatform } from "../platform-call.ts";
import type { KitCommand } from "./session.ts";
import { DONE, FAILED } from "./outcome.ts";
import { counted, example, jsonText, safe, safeLines, table } from "./text.ts";

export function addApps(program: KitCommand): void {
  program
    .command("apps")
    .argument("<uuid>", "the resource", typedUuid)
    .description("the app a resource was installed on, and all it is attached to")
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

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

function method(text: string): string {
  const known = text.toUpperCase();
  if (METHODS.includes(known)) return known;
  throw new UsedWrongly(
    `"${text}" is not a method of the platform's API, which takes ${METHODS.join(", ")}.`,
  );
}

function json(text: string): string {
  if (parsedJson(text) === undefined) throw new UsedWrongly("The data is not JSON.");
  return text;
}

export function addApi(program: KitCommand): void {
  program
    .command("api")
    .argument("<METHOD>", METHODS.join(", "), method)
    .argument("<PATH>", "on the platform's API, from its first slash")
    .requiredOption("--resource <uuid>", "whose token is sent", typedUuid)
    .option("--data <json>", "the body", json)
    .option("--reveal", "show tokens, config values and other secrets of the answer")
    .description("any call to the platform's API; the answer is shown as it comes, but for secrets in it")
    .addHelpText("after", example("kit api GET /addons/UUID --resource UUID"))
    .does(
      async (session, method: string, path: string, { resource: uuid, data, reveal = false }: Options) => {
        if (method === "GET" && data !== undefined) throw new UsedWrongly("A GET has no body: drop --data.");
        const context = await session.context({ changes: method !== "GET" });
        const answer = await callPlatform(context, { method, path, uuid, data }, reveal);
        const { status, body } = answer;
        return {
          data: answer,
          message: `status ${status}`,
          show: ({ paint }) => {
            const head = (status >= 400 ? paint.red : paint.green)(String(status));
            const text = typeof body === "string" ? safeLines(body) : jsonText(body, 2);
            return body === null ? head : `${head}\n${text}`;
          },
          exitCode: status >= 400 ? FAILED : DONE,
        };
      },
    );
}
