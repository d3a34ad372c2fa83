// Completes a build's folder with what the compiler leaves out: the migrations of your service, the runbook, and the commit that was
// built, for src/version.ts: git's, with -dirty if files differ from it; where there is no repository, the one that a
// platform or a container's build names in the environment.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, writeFileSync } from "node:fs";
import process from "node:process";

const [, , folder = "dist"] = process.argv;
const migrations = "src/your-service/migrations";
if (existsSync(migrations)) cpSync(migrations, `${folder}/your-service/migrations`, { recursive: true });
// The operator's pages show it.
cpSync("docs/operate.md", `${folder}/operate.md`);
const { stdout } = spawnSync("git", ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]);
const named = process.env.SOURCE_COMMIT || process.env.SOURCE_VERSION || "";
writeFileSync(
  `${folder}/commit`,
  String(stdout ?? "").trim() || named.replace(/^([0-9a-f]{12})[0-9a-f]+$/, "$1"),
);
