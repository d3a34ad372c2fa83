import { spawnSync } from "node:child_process";

/** One promise broken on purpose. */
export interface Mutant {
  name: string;
  /** What the broken code does, in a sentence. */
  why: string;
  test: NamedTest;
  /** A unified diff against the project. */
  diff: string;
}

/** A test file, and a part of the title of the test in it that must fail. */
export interface NamedTest {
  file: string;
  title: string;
}

/** Reads a patch: a sentence, a line `Test: FILE › TITLE`, an empty line, the diff. Throws if one is missing. */
export function readMutant(name: string, text: string): Mutant {
  const [, why, file, title, diff] = /^(.+)\nTest: (\S+) › (.+)\n\n(--- a\/[^]+)$/.exec(text) ?? [];
  if (!why || !file || !title || !diff)
    throw new Error(`${name}.patch is not a sentence, a test and a diff.`);
  return { name, why, test: { file, title }, diff };
}

/** False: the code has moved on, and the patch must be made anew. */
export function apply({ diff }: Mutant, folder: string): boolean {
  return spawnSync("git", ["apply", "-"], { cwd: folder, input: diff }).status === 0;
}
