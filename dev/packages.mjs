// Ends a command with a sentence where the packages for building and development are missing: imported by those that
// need them, before anything else fails.
import { createRequire } from "node:module";
import process from "node:process";

const { resolve } = createRequire(import.meta.url);
const isMissing = (name) => {
  try {
    resolve(`${name}/package.json`);
    return false;
  } catch {
    return true;
  }
};

const missing = ["prisma", "tsx", "typescript-native"].filter(isMissing);
if (missing.length > 0) {
  process.stderr.write(
    `Packages for building are not installed (${missing.join(", ")}), as after npm ci with NODE_ENV=production: run npm ci --include=dev, and npm prune --omit=dev after the build.\n`,
  );
  process.exit(1);
}
