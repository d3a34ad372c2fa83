import type { History } from "./history.ts";
import type { Finding } from "./verdict.ts";

/** The figures of a run, and what each promise came to. */
export function report(findings: readonly Finding[], history: History): string {
  const done = [...history.counts].sort(([, a], [, b]) => b - a).map(([what, count]) => `${count} × ${what}`);
  const lines = findings.flatMap(({ id, promise, against, figure }) => [
    `${against.length === 0 ? "holds " : "BROKEN"}  ${id.padEnd(3)} ${promise} (${figure})`,
    ...against.slice(0, 10).map((each) => `          ${each}`),
    ...(against.length > 10 ? [`          … and ${against.length - 10} more`] : []),
  ]);
  return `\nDone to it: ${done.join(", ")}.\n\n${lines.join("\n")}\n`;
}
