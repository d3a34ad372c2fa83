// `node workshop/release-notes.mjs v0.1.0`: prints the changelog's chapter of that release. Fails where the tag is not the
// version of every package.json, or there is no such chapter.
import { readFileSync } from "node:fs";
import process from "node:process";

const [, , tag] = process.argv;
const manifests = ["package.json", "packages/sandbox/package.json", "packages/conformance/package.json"];
const others = manifests.filter((file) => `v${JSON.parse(readFileSync(file, "utf8")).version}` !== tag);
const chapters = readFileSync("CHANGELOG.md", "utf8").split(/^(?=## )/m);
const chapter = chapters.find((each) => each.startsWith(`## ${tag?.slice(1)} - `));
if (others.length > 0 || !chapter) {
  const why = chapter ? `${others.join(", ")} name another version.` : "CHANGELOG.md has no chapter of it.";
  process.stderr.write(`${tag} cannot be released: ${why}\n`);
  process.exit(1);
}
process.stdout.write(`${chapter.slice(chapter.indexOf("\n")).trim()}\n`);
