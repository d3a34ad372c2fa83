import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Fact, URGENCIES } from "../src/operator/facts/fact.ts";
import { FACTS } from "../src/operator/facts/facts.ts";
import { ACTIONS } from "../src/operator/pages/findings.tsx";
import { anchorOf } from "../src/operator/runbook.ts";

// Lists what may be wrong: npx tsx workshop/facts.ts writes the table of docs/operate.md anew.

export const RUNBOOK = new URL("../docs/operate.md", import.meta.url);

type Row = Fact<unknown> & { id: string };
const ALL = Object.entries(FACTS).map(([id, fact]) => ({ id, ...(fact as unknown as Fact<unknown>) }));

const [BEGIN, END] = ["<!-- facts -->\n<!-- prettier-ignore-start -->", "<!-- prettier-ignore-end -->"];

/** The page with its table of facts written anew. */
export function listed(page: string): string {
  const from = page.indexOf(BEGIN);
  const to = page.indexOf(END, from);
  const sorted = URGENCIES.flatMap((urgency) => ALL.filter((each) => usualOf(each) === urgency));
  const head = ["What is wrong", "Its id", "Urgency", "Names", "Cure", "Alerts and alarms", "More"];
  const rows = [head, head.map(() => "---"), ...sorted.map(cells)];
  const table = rows.map((row) => `| ${row.join(" | ")} |`).join("\n");
  return `${page.slice(0, from)}${BEGIN}\n\n${table}\n\n${page.slice(to)}`;
}

const usualOf = ({ urgency }: Row) => (typeof urgency === "string" ? urgency : urgency.usually);

function cells(fact: Row): string[] {
  const {
    id,
    title,
    urgency,
    names,
    command,
    buttons = [],
    alerts = [],
    alarms = [],
    noAlert,
    runbook,
  } = fact;
  const labels = buttons.map((path) => `“${ACTIONS[path]!.label}”`);
  return [
    title,
    `\`${id}\``,
    typeof urgency === "string" ? urgency : `${urgency.usually}, or urgent`,
    names ?? "",
    [command && `\`${command}\``, ...labels].filter(Boolean).join(", "),
    noAlert ? `none: ${noAlert}` : [...alerts, ...alarms].map((each) => `\`${each}\``).join(", "),
    `[${runbook}](#${anchorOf(runbook)})`,
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(RUNBOOK, listed(readFileSync(RUNBOOK, "utf8")));
