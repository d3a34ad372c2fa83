import { defineConfig } from "prisma/config";

/** For Prisma's own command line: `npx prisma migrate dev` writes a new migration, `kit migrate` applies it. */
export default defineConfig({
  schema: "prisma/schema.prisma",
  migrations: { path: "prisma/migrations" },
  datasource: { url: process.env["MIGRATION_DATABASE_URL"] ?? process.env["DATABASE_URL"] ?? "" },
});
