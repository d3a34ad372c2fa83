// Generates the Prisma clients, each if its schema is newer than the client there is: development, tests and build all
// begin with this.
import "../dev/packages.mjs";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { URL } from "node:url";
import { prisma, schemas, version } from "./prisma.mjs";

for (const { file, client } of schemas()) {
  const at = (name) => new URL(`../${name}`, import.meta.url);
  const stamp = at(`${client}/made-from`);
  const madeFrom = createHash("sha256")
    .update(readFileSync(at(file)))
    .update(version)
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === madeFrom) continue;
  let fault = prisma("generate", "--no-hints", "--schema", file);
  if (!fault && !existsSync(at(`${client}/client.ts`)))
    fault = `The generator of ${file} must have: provider = "prisma-client" and output = "./client".\n`;
  if (fault) {
    process.stderr.write(fault);
    process.exit(1);
  }
  writeFileSync(stamp, madeFrom);
}
