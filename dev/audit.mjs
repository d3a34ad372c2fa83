// Fails if the registry knows a vulnerability of level "high" or above in what ships: in the packages that production
// installs, and in those of which the build takes a part. A registry that does not answer is another failure.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import { URL } from "node:url";

/** Of sysexits.h, as 78 is. */
const UNAVAILABLE = 69;

const audit = (...words) =>
  spawnSync(process.execPath, [process.env.npm_execpath, "audit", "--audit-level=high", ...words], {
    encoding: "utf8",
    maxBuffer: 100_000_000,
    stdio: ["ignore", "pipe", "inherit"],
  });

const { vulnerabilities, ...refusal } = parsed(audit("--json").stdout);
process.exitCode = vulnerabilities ? judge(vulnerabilities) : refused(refusal);

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { message: text.trim() || "npm audit printed nothing" };
  }
}

function judge(found) {
  const installed = audit("--omit=dev");
  process.stdout.write(installed.stdout);
  const builtIn = JSON.parse(readFileSync(new URL("built-in.json", import.meta.url), "utf8"));
  const bad = builtIn.filter((name) => /^(high|critical)$/.test(found[name]?.severity));
  for (const name of bad)
    process.stderr.write(`${name}, which the build takes in, is vulnerable: npm audit\n`);
  return installed.status === 0 && bad.length === 0 ? 0 : 1;
}

/** `uri`: what npm asked last; absent if it reached nobody. */
function refused({ uri, message, error }) {
  const { origin } = new URL(uri ?? process.env.npm_config_registry ?? "https://registry.npmjs.org");
  process.stderr.write(
    `The registry ${origin} did not say what is vulnerable: ${message ?? error?.summary}. So it is not known whether what ships is (exit code ${UNAVAILABLE}). Run it again later, or ask another registry: npm run audit --registry=ADDRESS\n`,
  );
  return UNAVAILABLE;
}
