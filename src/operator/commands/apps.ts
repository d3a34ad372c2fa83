import type { AppsReport } from "../apps.ts";
import { typedUuid } from "../errors.ts";
import { EXAMPLE_UUID, examples, type AddCommand } from "./command.ts";
import type { Screen } from "./screen.ts";
import { table } from "./table.ts";
import { counted, safe } from "./text.ts";

export const addApps: AddCommand = (program, act) => {
  program
    .command("apps")
    .argument("<uuid>", "the resource", typedUuid)
    .description("the app a resource was installed on, and all it is attached to")
    .addHelpText("after", examples(`kit apps ${EXAMPLE_UUID}`))
    .action(
      act(async (session, uuid: string) => {
        const { appsOf } = await import("../apps.ts");
        const report = await appsOf(await session.services(), uuid);
        return { data: report, show: (screen) => show(screen, report) };
      }),
    );
};

function show(screen: Screen, { primary, attachments }: AppsReport): string {
  const list = table(
    screen,
    [
      { title: "APP", of: ({ app }) => app.name },
      { title: "ATTACHED AS", of: ({ name }) => name, canShrink: true },
      { title: "APP ID", of: ({ app }) => app.id },
    ],
    attachments,
  );
  return `Installed on ${screen.paint.bold(safe(primary.name))}, ${counted(attachments.length, "attachment")}.\n${list}`;
}
