import type { Command } from "commander";
import { typedUuid } from "../errors.ts";
import type { ResourceRecord } from "../resource-record.ts";
import { planInWords } from "../wording.ts";
import { EXAMPLE_UUID, examples, type Act } from "./command.ts";
import { NOT_CONFIRMED } from "./outcome.ts";
import { screenOf } from "./screen.ts";
import { safe, wrapped } from "./text.ts";

/** `kit resources erase`, a subcommand of `resources`. */
export function addErase(resources: Command, act: Act): void {
  resources
    .command("erase")
    .argument("<uuid>", "the resource", typedUuid)
    .option("--yes", "do not ask")
    .description("end a resource that the platform no longer asks about; a tombstone stays")
    .addHelpText(
      "after",
      `${examples(`kit resources erase ${EXAMPLE_UUID}`, `kit resources erase ${EXAMPLE_UUID} --yes`)}${AFTER}`,
    )
    .action(
      act(async (session, uuid: string, { yes = false }: { yes?: boolean }) => {
        const { deprovisionWithoutKeys, eraseResource } = await import("../erasure.ts");
        const { lostProvisions } = await import("../lost-provisions.ts");
        const { showResource } = await import("../resources.ts");
        const db = await session.database();
        const lost = (await lostProvisions(db)).find((each) => each.uuid === uuid);
        const resource = lost ? null : await showResource(db, uuid);
        if (!yes) {
          if (resource)
            session.say(wrapped(inWords(resource), screenOf(session.host, "stderr").columns, "  "));
          if (!(await session.confirm("Erase it for good?"))) return NOT_CONFIRMED;
        }
        const report = await eraseResource({ db, deprovision: deprovisionWithoutKeys(db) }, uuid);
        const end = resource ? "Its uuid can never live again." : "It is no longer listed as lost.";
        return { data: report, show: () => `Erased ${report.erased}. ${end}` };
      }),
    );
}

const AFTER = `

Its tokens and config vars are gone for good, and what your service keeps for it
is cleaned up. Said of a tombstone, it takes what is left of the customer: name,
app and options. A person at a terminal is asked; a script says --yes.`;

function inWords({ uuid, name, plan, state, credential, app }: ResourceRecord): string {
  const which = [
    name && `"${safe(name)}"`,
    plan === "" ? planInWords(plan) : `plan ${safe(plan)}`,
    state,
    `credential ${credential.state}`,
  ];
  const where = app ? `, on app ${safe(app.name)}` : "";
  return `${uuid}:\n${which.filter(Boolean).join(", ")}${where}.`;
}
