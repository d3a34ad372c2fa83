import { typedUuid, UsedWrongly } from "../errors.ts";
import { runYourAction, yourActions } from "../your-actions.ts";
import type { KitCommand } from "./session.ts";
import { onScreen } from "./outcome.ts";
import { table } from "./text.ts";

export function addAction(program: KitCommand): void {
  program
    .command("action")
    .argument("[name]", "the action; list shows all", "list")
    .argument("[uuid]", "the resource", typedUuid)
    .description("what your service lets an operator do to a resource")
    .does(async (session, name: string, uuid?: string) => {
      if (uuid === undefined && name !== "list")
        throw new UsedWrongly(`Name the resource, too: kit action ${name} UUID.`);
      if (uuid === undefined) {
        const all = yourActions(await session.openContext(session.settings()));
        const data = all.map(({ name: action, label, effect }) => ({ action, label, effect }));
        return {
          data,
          show: (screen) =>
            data.length > 0 ? table(screen, data) : "Your service has none (docs/extend-it.md).",
        };
      }
      const context = await session.context({ changes: true });
      const said = await runYourAction(context, name, uuid, session.how());
      return { data: { uuid, said }, message: said, show: (screen) => onScreen(screen, said) };
    });
}
