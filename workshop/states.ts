import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CREDENTIAL_MOVES, CREDENTIAL_STATES } from "../src/credentials/states.ts";
import { type Moves, RESOURCE_MOVES, RESOURCE_STATES } from "../src/resources/states.ts";

// Draws the state machines: npx tsx workshop/states.ts writes docs/states.md anew.

/** From `none`: there is no row yet. */
type Move = Record<"from" | "on" | "to" | "why", string>;

const listed = (moves: Moves<string>): Move[] =>
  Object.entries(moves).flatMap(([from, events]) =>
    Object.entries(events ?? {}).map(([on, [to, why] = ["", ""]]) => ({ from, on, to, why })),
  );

/** A state machine: the column that holds its state, its states, and every move between them. */
export interface Machine {
  title: string;
  /** The table whose column `state` it is. */
  table: string;
  /** The file that holds the moves. */
  file: string;
  states: readonly string[];
  moves: readonly Move[];
}

export const MACHINES: readonly Machine[] = [
  {
    title: "A resource",
    table: "resources",
    file: "src/resources/states.ts",
    states: RESOURCE_STATES,
    moves: listed(RESOURCE_MOVES),
  },
  {
    title: "A credential",
    table: "credentials",
    file: "src/credentials/states.ts",
    states: CREDENTIAL_STATES,
    moves: listed(CREDENTIAL_MOVES),
  },
];

export const PAGE = new URL("../docs/states.md", import.meta.url);

/** The page with each machine drawn anew behind its heading; what stands before the first one stays. */
export function drawn(page: string): string {
  const [intro] = page.split("\n## ");
  return [intro!.trimEnd(), ...MACHINES.map(sectionOf)].join("\n\n") + "\n";
}

function sectionOf({ title, table, file, moves }: Machine): string {
  return [
    `## ${title}`,
    `The column \`state\` of \`${table}\`; the moves are the rows of \`${file}\`.`,
    ["```mermaid", "stateDiagram-v2", ...arrows(moves), "```"].join("\n"),
    ["<!-- prettier-ignore-start -->", "", "| From | On | To | Why |", "| --- | --- | --- | --- |"]
      .concat(
        moves.map(
          ({ from, on, to, why }) =>
            `| ${from === "none" ? "—" : `\`${from}\``} | ${on} | \`${to}\` | ${why} |`,
        ),
      )
      .concat("", "<!-- prettier-ignore-end -->")
      .join("\n"),
  ].join("\n\n");
}

/** One arrow from a state to another, with all that leads along it. */
function arrows(moves: readonly Move[]): string[] {
  const ways = new Map<string, string[]>();
  for (const { from, on, to } of moves) {
    const way = `${from === "none" ? "[*]" : from} --> ${to}`;
    ways.set(way, [...(ways.get(way) ?? []), on]);
  }
  return [...ways].map(([way, events]) => `  ${way}: ${[...new Set(events)].join(", ")}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(PAGE, drawn(readFileSync(PAGE, "utf8")));
