// Generates the Prisma client. Prisma looks for a schema engine binary that generating does not need and would
// download it; pointing it at any executable keeps the installation to npm packages.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";

const prisma = createRequire(import.meta.url).resolve("prisma/build/index.js");
const { status } = spawnSync(process.execPath, [prisma, "generate", "--no-hints"], {
  stdio: ["ignore", "ignore", "inherit"],
  env: {
    ...process.env,
    PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
    CHECKPOINT_DISABLE: "1",
    PRISMA_HIDE_UPDATE_MESSAGE: "1",
  },
});
process.exit(status ?? 1);
