import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { testTitles } from "./test-titles.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const titlesOfFile = new Map<string, string[]>();

/**
 * What is wrong with the tests that a document cites: `` `test/a.test.ts` "part of a title", "part of another" ``, the
 * next file after a semicolon. Empty: the files exist, and each part stands in one of their titles.
 */
export function wrongCitations(cell: string): string[] {
  return cell.split(/; (?=`)/).flatMap((cited) => {
    const [, file, list] = /^`(test\/[\w./-]+\.test\.ts)` ("[^"]+"(?:, "[^"]+")*)$/.exec(cited) ?? [];
    if (!file || !existsSync(path.join(root, file))) return [cited];
    const titles = titlesIn(file);
    const parts = [...list!.matchAll(/"([^"]+)"/g)].map(([, part]) => part!);
    return parts.filter((part) => !titles.some((title) => title.includes(part)));
  });
}

function titlesIn(file: string): string[] {
  const titles = titlesOfFile.get(file) ?? testTitles(path.join(root, file));
  titlesOfFile.set(file, titles);
  return titles;
}
