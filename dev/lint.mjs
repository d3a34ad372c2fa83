// `npm run lint`: prettier, and beside it eslint. `npm run format`: what eslint and prettier can put right, they do, one after
// the other.
import "./packages.mjs";
import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";

/** Runs a package's program with Node; resolves with whether it is content. */
async function isContent(program, words) {
  const child = spawn(process.execPath, [`node_modules/${program}`, ...words], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const [code] = await once(child, "close");
  return code === 0;
}
const eslint = (...words) => isContent("eslint/bin/eslint.js", words);
const prettier = (...words) => isContent("prettier/bin/prettier.cjs", [...words, "--log-level", "warn", "."]);

async function lint() {
  const formatted = prettier("--cache", "--check");
  const linted = await eslint(".");
  return (await formatted) && linted;
}
async function format() {
  await eslint("--fix", ".");
  return prettier("--write");
}
process.exitCode = (await (process.argv[2] === "--fix" ? format() : lint())) ? 0 : 1;
