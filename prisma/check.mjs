// Checks the schemas, or the named files, by themselves: whether Prisma takes them, and whether they are written as `prisma format` writes them.
import "../dev/packages.mjs";
import process from "node:process";
import { prisma, schemas } from "./prisma.mjs";

const [, , ...named] = process.argv;
for (const file of named.length > 0 ? named : schemas().map((each) => each.file)) {
  const fault =
    prisma("validate", "--schema", file) ??
    (prisma("format", "--check", "--schema", file) &&
      `${file} is not formatted. Run: npx prisma format --schema ${file}\n`);
  if (!fault) continue;
  process.stderr.write(fault);
  process.exitCode = 1;
}
