import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { plots } from "./plots.ts";
import { cells, COLUMNS } from "./report.ts";
import type { Line } from "./works/work.ts";

const page = fileURLToPath(new URL("../docs/performance.md", import.meta.url));
const folder = fileURLToPath(new URL("../docs/plots/", import.meta.url));

/** Writes the figures of a whole run between the markers of docs/performance.md, and the drawings beside it. */
export function writeDocs(says: readonly string[], lines: readonly Line[]): void {
  const row = (texts: readonly string[]) => `| ${texts.join(" | ")} |`;
  const rule = COLUMNS.map((_, column) => (column === 0 ? "---" : "--:"));
  const table = [COLUMNS, rule, ...lines.map(cells)].map(row).join("\n");
  const text = readFileSync(page, "utf8");
  const [before, after] = [text.indexOf(BEGIN) + BEGIN.length, text.indexOf(END)];
  const figures = `\n\n${says.join(" · ")} · ${new Date().toISOString().slice(0, 10)}\n\n${table}\n\n`;
  writeFileSync(page, text.slice(0, before) + figures + text.slice(after));
  mkdirSync(folder, { recursive: true });
  for (const [name, svg] of Object.entries(plots(lines))) writeFileSync(folder + name, svg);
}

const BEGIN = "<!-- figures: npm run bench -- --write-docs -->";
const END = "<!-- end of the figures -->";
