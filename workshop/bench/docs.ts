import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format } from "prettier";
import { plots } from "./plots.ts";
import { cells, COLUMNS } from "./report.ts";
import type { Line } from "./works/work.ts";

const page = fileURLToPath(new URL("../../docs/performance.md", import.meta.url));
const folder = fileURLToPath(new URL("../../docs/plots/", import.meta.url));

/** Writes the figures of a complete run into docs/performance.md, and the plots beside it. */
export async function writeDocs(says: readonly string[], lines: readonly Line[]): Promise<void> {
  const drawings = plots(lines);
  mkdirSync(folder, { recursive: true });
  for (const [name, { svg }] of Object.entries(drawings)) writeFileSync(folder + name, svg);

  const images = Object.entries(drawings).map(([name, { title }]) => `![${title}](plots/${name})`);
  const measured = `Measured on ${new Date().toISOString().slice(0, 10)}: ${says.join("; ")}.`;
  const text = withFigures(
    readFileSync(page, "utf8"),
    [measured, markdownTable(lines), ...images].join("\n\n"),
  );
  writeFileSync(page, await format(text, { parser: "markdown", printWidth: 110 }));
}

const BEGIN = "<!-- The figures: npm run bench -- --write-docs -->";
const END = "<!-- The end of the figures -->";

/** Replaces the figures between the page's two markers. */
export function withFigures(text: string, figures: string): string {
  const [before, after] = [text.indexOf(BEGIN) + BEGIN.length, text.indexOf(END)];
  if (before < BEGIN.length || after < before) throw new Error("docs/performance.md has lost its markers.");
  return `${text.slice(0, before)}\n\n${figures}\n\n${text.slice(after)}`;
}

function markdownTable(lines: readonly Line[]): string {
  const rule = COLUMNS.map((_, column) => (column === 0 ? "---" : "--:"));
  return [COLUMNS, rule, ...lines.map(cells)].map((row) => `| ${row.join(" | ")} |`).join("\n");
}
