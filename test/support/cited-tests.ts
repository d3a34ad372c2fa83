import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { testTitles, type TestTitle } from "./test-titles.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const titlesOfFile = new Map<string, TestTitle[]>();

/**
 * What is wrong with the tests that a document cites: `` `test/a.test.ts` "part of a title", "part of another" ``, the
 * next file after a semicolon. Empty: the files exist, and each part stands in one of their titles.
 */
export function wrongCitations(cell: string): string[] {
  return citations(cell).flatMap(({ cited, file, parts }) => {
    if (!file || !existsSync(path.join(root, file))) return [cited];
    return parts.filter((part) => titled(file, part).length === 0);
  });
}

/** The parts of titles whose tests are run where there is a PostgreSQL only. */
export function citedOnPostgresql(cell: string): string[] {
  return citations(cell).flatMap(({ file, parts }) =>
    parts.filter((part) => titled(file!, part).every(({ needsPostgresql }) => needsPostgresql)),
  );
}

function citations(cell: string) {
  return cell.split(/; (?=`)/).map((cited) => {
    const [, file, list = ""] = /^`(test\/[\w./-]+\.test\.ts)` ("[^"]+"(?:, "[^"]+")*)$/.exec(cited) ?? [];
    return { cited, file, parts: [...list.matchAll(/"([^"]+)"/g)].map(([, part]) => part!) };
  });
}

function titled(file: string, part: string): TestTitle[] {
  return titlesIn(file).filter(({ title }) => title.includes(part));
}

function titlesIn(file: string): TestTitle[] {
  const titles = titlesOfFile.get(file) ?? testTitles(path.join(root, file));
  titlesOfFile.set(file, titles);
  return titles;
}
