import { answeredWith, isExchange, life, plainExchange, quiet } from "../probes.ts";
import { holds, type RuleGroup } from "../rule.ts";
import { assumed, platform } from "../sections.ts";

const section = assumed(1);

export const tombstones: RuleGroup = {
  title: "After the end",
  rules: [
    {
      id: "TOMB-01",
      title: "A provision of a deprovisioned resource is answered with 410",
      section,
      severity: "must",
      mend: "Keep the uuid of what is gone. A late delivery must not make it live again.",
      check: async (stage) => answeredWith((await life(stage)).provisionAgain.reply, 410),
    },
    {
      id: "TOMB-02",
      title: "A plan change of a deprovisioned resource is answered with 410",
      section,
      severity: "must",
      mend: "Look at the state before the plan.",
      check: async (stage) => answeredWith((await life(stage)).changeAgain.reply, 410),
    },
    {
      id: "TOMB-03",
      title: "A deprovision that comes again is answered with 410",
      section,
      severity: "must",
      mend: "Answer 410 where the uuid is known as gone, 404 only where it was never seen.",
      check: async (stage) => answeredWith((await life(stage)).deprovisionAgain.reply, 410),
    },
    {
      id: "TOMB-04",
      title: "Nothing is exchanged for a deprovisioned resource",
      section: platform("States and transitions"),
      severity: "must",
      mend: "A provision that is refused starts no work.",
      isPatient: true,
      async check(stage) {
        await plainExchange(stage);
        const { resource, endedAt } = await life(stage);
        await quiet(stage);
        // The grant was exchanged before the end, so no earlier call can still be under way.
        const late = stage.callsOf(resource).filter((call) => isExchange(call) && call.at > endedAt);
        holds(late.length === 0, "A late provision of a deprovisioned resource started an exchange.");
      },
    },
  ],
};
