/** A code block of a page whose first line says which file it is from. */
export interface Excerpt {
  file: string;
  /** Runs of lines that stand in the file one below the other; `…` on a line of its own is between two. */
  runs: string[];
}

export function excerptsIn(page: string): Excerpt[] {
  return [...page.matchAll(/```tsx?\n\s*\/\/ (\S+)\n([\s\S]*?)```/g)].map(([, file, code]) => ({
    file: file!,
    runs: code!.split(/^\s*…$/m).map(linesOf),
  }));
}

/** Indentation aside, which differs where an excerpt is taken out of a function. */
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
