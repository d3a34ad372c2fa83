// Generates the Prisma client, if the schema is newer than the client there is: development, tests and build all begin
// with this. Prisma looks for a schema engine binary that generating does not need and would download it; pointing it
// at any executable keeps the installation to npm packages, and works without a network.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import process from "node:process";
import { URL } from "node:url";
import "../dev/packages.mjs";

const require = createRequire(import.meta.url);
const client = new URL("../src/database/client/", import.meta.url);
const stamp = new URL("made-from", client);

const madeFrom = createHash("sha256")
  .update(readFileSync(new URL("schema.prisma", import.meta.url)))
  .update(require("prisma/package.json").version)
  .digest("hex");
if (existsSync(stamp) && readFileSync(stamp, "utf8") === madeFrom) process.exit(0);

const { status, stderr } = spawnSync(
  process.execPath,
  [require.resolve("prisma/build/index.js"), "generate", "--no-hints"],
  {
    cwd: new URL("..", import.meta.url),
    env: {
      ...process.env,
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      CHECKPOINT_DISABLE: "1",
      PRISMA_HIDE_UPDATE_MESSAGE: "1",
    },
  },
);
if (status === 0) writeFileSync(stamp, madeFrom);
else process.stderr.write(stderr);
process.exit(status ?? 1);
