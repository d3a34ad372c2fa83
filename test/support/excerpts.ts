/** A code block of a page whose first line names the file it is from. */
interface Excerpt {
  file: string;
  /** Runs of consecutive lines of the file; a line with only `…` separates two runs. */
  runs: string[];
}

export function excerptsIn(page: string): Excerpt[] {
  return [...page.matchAll(/```tsx?\n\s*\/\/ (\S+)\n([\s\S]*?)```/g)].map(([, file, code]) => ({
    file: file!,
    runs: code!.split(/^\s*…$/m).map(linesOf),
  }));
}

/** Ignores indentation, which differs if an excerpt is taken out of a function. */
export function isIn(text: string, { runs }: Excerpt): boolean {
  return runs.every((run) => linesOf(text).includes(run));
}

export function linesOf(text: string): string {
  return text
    .split("\n")
    .map((line) => line.trim())
    .join("\n")
    .trim();
}
