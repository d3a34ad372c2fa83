// `node dev/run.mjs [--generate] FILE [ARGUMENT…]`: runs a program in TypeScript, in this very process, on
// any system. --generate makes the Prisma clients first, where their schemas have changed.
import "./npm-shell.mjs";
import "./packages.mjs";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";

const words = process.argv.slice(2);
if (words[0] === "--generate") {
  words.shift();
  await import("../prisma/generate.mjs");
}
const [file, ...rest] = words;
await import("tsx");
const program = path.resolve(file);
// As after `node FILE`.
process.argv.splice(1, Infinity, program, ...rest);
await import(pathToFileURL(program).href);
