import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format } from "prettier";
import type { Run } from "./medians.ts";
import { plots } from "./plots.tsx";
import { cells, COLUMNS } from "./report.ts";
import type { Line } from "./works/work.ts";

const file = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const PAGE = "docs/performance.md";
const BENCH_PAGE = "workshop/bench/README.md";
const PLOTS = "docs/plots/";

/** What the page for who sells an add-on takes of the table: a line of the bench, and how it is called there. */
const CARRIED: readonly (readonly [work: string, words: string])[] = [
  ["provision answered 202", "provisions a second, answered 202"],
  ["provision answered 200", "provisions a second, answered 200 by a function of yours that takes no time"],
  ["provision to stored token pair", "provisions a second, until the token pair is stored"],
  ["refresh, endpoint at 50 ms, 256 in flight", "token pairs refreshed a second, at 50 ms a call"],
  ["memory, idle", "MB of memory, idle"],
  ["memory, most while all that is done", "MB of memory, at most"],
  ["start to listening", "seconds from the start until it listens"],
];

/** Writes the figures of a complete run into both pages, and the plots beside docs/performance.md. */
export async function writeDocs({ on, says, lines }: Run): Promise<void> {
  const drawings = plots(lines);
  mkdirSync(file(PLOTS), { recursive: true });
  for (const [name, { svg }] of Object.entries(drawings)) writeFileSync(file(PLOTS + name), svg);

  const images = Object.entries(drawings).map(([name, { title }]) => `![${title}](plots/${name})`);
  const measured = `Measured on ${on}: ${says.join("; ")}.`;
  await writeFigures(PAGE, [measured, carriedTable(lines), ...images]);
  await writeFigures(BENCH_PAGE, [measured, markdownTable(lines)]);
}

async function writeFigures(name: string, parts: readonly string[]): Promise<void> {
  const text = withFigures(readFileSync(file(name), "utf8"), parts.join("\n\n"));
  writeFileSync(file(name), await format(text, { parser: "markdown", printWidth: 110 }));
}

function carriedTable(lines: readonly Line[]): string {
  const rows = CARRIED.map(([work, words]) => {
    const line = lines.find((each) => each.work === work);
    if (!line) throw new Error(`The bench has no line "${work}".`);
    const { subject } = line;
    return `| ${subject < 100 ? subject.toPrecision(2) : Math.round(subject).toLocaleString("en")} | ${words} |`;
  });
  return ["| One process on one processor | |", "| --: | --- |", ...rows].join("\n");
}

const BEGIN = "<!-- The figures: npm run bench -- --write-docs -->";
const END = "<!-- The end of the figures -->";

/** Replaces the figures between the page's two markers. */
export function withFigures(text: string, figures: string): string {
  const [before, after] = [text.indexOf(BEGIN) + BEGIN.length, text.indexOf(END)];
  if (before < BEGIN.length || after < before) throw new Error("The page has lost its markers.");
  return `${text.slice(0, before)}\n\n${figures}\n\n${text.slice(after)}`;
}

function markdownTable(lines: readonly Line[]): string {
  const rule = COLUMNS.map((_, column) => (column === 0 ? "---" : "--:"));
  return [COLUMNS, rule, ...lines.map(cells)].map((row) => `| ${row.join(" | ")} |`).join("\n");
}
