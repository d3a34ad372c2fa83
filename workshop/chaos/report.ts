import type { History } from "./history.ts";
import type { Finding } from "./verdict.ts";

/** The figures of a run, and whether each promise holds. */
export function report(findings: readonly Finding[], history: History): string {
  const done = [...history.counts].sort(([, a], [, b]) => b - a).map(([what, count]) => `${count} × ${what}`);
  const lines = findings.flatMap(({ id, promise, against, figure }) => [
    `${against.length === 0 ? "holds " : "BROKEN"}  ${id.padEnd(3)} ${promise} (${figure})`,
    ...against.slice(0, 10).map((each) => `          ${each}`),
    ...(against.length > 10 ? [`          … and ${against.length - 10} more`] : []),
  ]);
  return `\nDone to it: ${done.join(", ")}.\n\n${lines.join("\n")}\n`;
}

/** The exit code of a run: 0 if everything holds, 3 if nothing was found but what a slow machine explains, else 1. */
export function exitCodeOf(findings: readonly Finding[]): number {
  const broken = findings.filter(({ against }) => against.length > 0);
  if (broken.length === 0) return 0;
  return broken.every(({ isOfTime }) => isOfTime) ? 3 : 1;
}
