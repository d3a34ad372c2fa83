import { typedUuid } from "../errors.ts";
import { resumeResources, suspendResources, typedReason } from "../suspension.ts";
import { bulkOutcome, example } from "./outcome.ts";
import type { KitCommand } from "./session.ts";

const WHEN = `
A running service does it, within a quarter of a minute; kit resources show UUID says
when it is done. A resource that is skipped is no failure (exit code 0).`;

export function addSuspension(program: KitCommand): void {
  program
    .command("suspend")
    .argument("<uuid...>", "the resources")
    .requiredOption("--reason <text>", "a sentence that the customer reads")
    .summary("have your service suspend resources")
    .description("have your service suspend resources; of a suspended one, change the reason")
    .addHelpText(
      "after",
      `${example('kit suspend UUID --reason "The bill of October is not paid."')}\n${WHEN}`,
    )
    .does(async (session, typed: string[], options: { reason: string }) => {
      const uuids = typed.map(typedUuid);
      const reason = typedReason(options.reason);
      const ctx = await session.context({ changes: true });
      return bulkOutcome(await suspendResources(ctx, uuids, reason, session.how()), "asked for");
    });

  program
    .command("resume")
    .argument("<uuid...>", "the resources")
    .description("have your service end the suspension of resources")
    .addHelpText("after", WHEN)
    .does(async (session, typed: string[]) => {
      const uuids = typed.map(typedUuid);
      const ctx = await session.context({ changes: true });
      return bulkOutcome(await resumeResources(ctx, uuids, session.how()), "asked for");
    });
}
