import { answeredWith, isExchange, isRefusal, life, plainExchange, quiet, shown } from "../probes.ts";
import { holds, needs, type RuleGroup } from "../rule.ts";
import { assumed, platform } from "../sections.ts";
import type { Reply } from "../stage/wire.ts";

const section = assumed(1);

/** The document does not name the status: any refusal will do, but a success brings the resource back. */
function isRefused(reply: Reply | null): void {
  holds(reply && isRefusal(reply), `It was answered with ${shown(reply)}; a 4xx was due.`);
}

export const tombstones: RuleGroup = {
  title: "After the end",
  rules: [
    {
      id: "TOMB-01",
      title: "A provision of a deprovisioned resource is refused with a 4xx",
      section,
      severity: "must",
      mend: "Keep the uuid of what is gone. A late delivery must not make it live again.",
      check: async (stage) => isRefused((await life(stage)).provisionAgain.reply),
    },
    {
      id: "TOMB-02",
      title: "A plan change of a deprovisioned resource is refused with a 4xx",
      section,
      severity: "must",
      mend: "Look at the state before the plan.",
      check: async (stage) => isRefused((await life(stage)).changeAgain.reply),
    },
    {
      id: "TOMB-03",
      title: "A deprovision that comes again is refused with a 4xx",
      section,
      severity: "must",
      mend: "Answer 410 where the uuid is known as gone, 404 only where it was never seen.",
      check: async (stage) => isRefused((await life(stage)).deprovisionAgain.reply),
    },
    {
      id: "TOMB-04",
      title: "Nothing is exchanged for a deprovisioned resource",
      section: platform("Errors", "Grant code invalidated; provisioning deemed permanently failed"),
      severity: "must",
      mend: "A provision that is refused starts no work.",
      isPatient: true,
      follows: ["EXCH-03"],
      async check(stage) {
        await plainExchange(stage);
        const { resource, endedAt, provisionAgain } = await life(stage);
        const { reply } = provisionAgain;
        needs(reply && isRefusal(reply), "a late provision has to be refused first.", "TOMB-01");
        await quiet(stage);
        // The grant was exchanged before the end, so no earlier call can still be under way.
        const late = stage.callsOf(resource).filter((call) => isExchange(call) && call.at > endedAt);
        holds(late.length === 0, "A late provision of a deprovisioned resource started an exchange.");
      },
    },
    {
      id: "TOMB-05",
      title: "What comes for a deprovisioned resource is answered with 410",
      section,
      severity: "should",
      mend: "Answer 410: the platform and you then both know that the resource was there, and is gone.",
      follows: ["TOMB-01", "TOMB-02", "TOMB-03"],
      async check(stage) {
        const { provisionAgain, changeAgain, deprovisionAgain } = await life(stage);
        for (const { reply } of [provisionAgain, changeAgain, deprovisionAgain]) answeredWith(reply, 410);
      },
    },
  ],
};
