import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { testTitles } from "./test-titles.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const titlesOfFile = new Map<string, string[]>();

/**
 * The faulty citations of tests in a document: `` `test/a.test.ts` "part of a title", "part of another" ``, with a
 * semicolon before the next file. Empty: the files exist, and each part occurs in one of their titles.
 */
export function wrongCitations(cell: string): string[] {
  return citations(cell).flatMap(({ cited, file, parts }) => {
    if (!file || !existsSync(path.join(root, file))) return [cited];
    return parts.filter((part) => titled(file, part).length === 0);
  });
}

function citations(cell: string) {
  return cell.split(/; (?=`)/).map((cited) => {
    const [, file, list = ""] =
      /^`((?:packages\/\w+\/)?test\/[\w./-]+\.test\.ts)` ("[^"]+"(?:, "[^"]+")*)$/.exec(cited) ?? [];
    return { cited, file, parts: [...list.matchAll(/"([^"]+)"/g)].map(([, part]) => part!) };
  });
}

function titled(file: string, part: string): string[] {
  return titlesIn(file).filter((title) => title.includes(part));
}

function titlesIn(file: string): string[] {
  const titles = titlesOfFile.get(file) ?? testTitles(path.join(root, file));
  titlesOfFile.set(file, titles);
  return titles;
}
