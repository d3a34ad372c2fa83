import { counted } from "../wording.ts";
import { fact } from "./fact.ts";

// What may be wrong with what is sold, with the build, or with what customers are shown.

export const OF_THE_OFFER = {
  plans_not_on_offer: fact<{ plans: { plan: string; count: number }[]; areMore: boolean }>({
    title: "Customers have plans that are not on offer",
    urgency: "later",
    says({ plans, areMore }) {
      const named = plans.map(({ plan, count }) => `${plan} (${counted(count, "resource")})`).join(", ");
      return `Customers have plans that are not on offer: ${named}${areMore ? ", and more" : ""}.`;
    },
    names: "plans and resources",
    cure: "Put each back into src/your-service/plans.ts, with retired: true if it is no longer sold: a plan stays there as long as a customer has it.",
    command: "kit resources list --search PLAN",
    runbook: "Plans that are not on offer",
    noAlert:
      "it begins with a deploy, after which somebody looks; `AddonYourServiceFails` rings if a function cannot do it",
  }),
  options_misfit: fact<{ count: number; misfits: [words: string, count: number][]; areMore: boolean }>({
    title: "Customers chose options that the offer no longer takes",
    urgency: "later",
    says({ count, misfits, areMore }) {
      const named = misfits.map(([words, of]) => `${words} (${counted(of, "resource")})`).join(" ");
      return `The options of ${counted(count, "resource")} do not fit the schema in src/your-service/plans.ts: ${named}${areMore ? " And more." : ""} Their plan changes and rotations fail (options_differ), and your pages and jobs get none of their options.`;
    },
    names: "options and resources",
    cure: "Let the schema take what was chosen before, too, for example with a default or with the earlier value beside the new ones, and deploy that.",
    command: "kit resources export UUID",
    runbook: "Options that the offer no longer takes",
    noAlert:
      "it begins with a deploy, after which somebody looks; `AddonYourServiceFails` rings if a function cannot be called",
  }),
  manifest_invalid: fact({
    title: "app.json breaks rules of the platform",
    urgency: "urgent",
    says: () => "app.json breaks rules of the platform: no app can be made from it.",
    cure: "See each with: kit manifest check app.json",
    command: "kit manifest check app.json",
    runbook: "The build",
    noAlert: "no process that runs needs app.json",
  }),
  node_outdated: fact<{ build: string; why: string; versions: string }>({
    title: "This version of Node gets no security fixes",
    urgency: "remark",
    says: ({ build, why }) => `${build}. This version of Node ${why}.`,
    cure: ({ versions }) => `Run ${versions}, or newer of these lines.`,
    runbook: "The build",
  }),
  notice_shown: fact<{ text: string; severity: string; setBy: string; until: string | null }>({
    title: "Customers see a notice",
    urgency: "remark",
    says: ({ text, severity, setBy, until }) =>
      `All customers see this notice (${severity}), which ${setBy} set, ${until === null ? "without an end" : `until ${until} (UTC)`}: “${text}”`,
    cure: "When it is over: kit notice clear",
    command: "kit notice clear",
    buttons: ["/notice-clear"],
    runbook: "A notice to all customers",
  }),
  your_check: fact<{ words: string }>({
    title: "A check of your service found something",
    urgency: "urgent",
    says: ({ words }) => words,
    names: "what your check names",
    cure: "What it means, the check's own words say: it is in src/your-service/.",
    runbook: "Checks of your own",
    noAlert:
      "only who looks makes the checks: what must wake somebody is a gauge of yours, with an alert of yours",
  }),
};
