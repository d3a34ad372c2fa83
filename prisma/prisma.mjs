// Prisma's command line as this repository uses it. It looks for a schema engine binary that none of these commands needs,
// and would download it; pointing it at any executable keeps the installation to npm packages, and works without a network.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import process from "node:process";
import { fileURLToPath, URL } from "node:url";

const require = createRequire(import.meta.url);
const ROOT = new URL("..", import.meta.url);
export const version = require("prisma/package.json").version;

/** The kit's schema, and those that your service and the examples have for tables of their own; each with its client's folder. */
export function schemas() {
  const examples = existsSync(new URL("examples", ROOT)) ? readdirSync(new URL("examples", ROOT)) : [];
  const services = ["src", ...examples.map((name) => `examples/${name}`)].map(
    (name) => `${name}/your-service`,
  );
  return [
    { file: "prisma/schema.prisma", client: "src/database/client" },
    ...services.map((folder) => ({ file: `${folder}/schema.prisma`, client: `${folder}/client` })),
  ].filter(({ file }) => existsSync(new URL(file, ROOT)));
}

/** Runs `prisma` in the repository; what it said is null where it succeeded. */
export function prisma(...words) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [require.resolve("prisma/build/index.js"), ...words],
    {
      cwd: fileURLToPath(ROOT),
      encoding: "utf8",
      env: {
        ...process.env,
        PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
        CHECKPOINT_DISABLE: "1",
        PRISMA_HIDE_UPDATE_MESSAGE: "1",
        NO_COLOR: "1",
      },
    },
  );
  return status === 0 ? null : `${stdout}${stderr}`;
}
