import path from "node:path";

/** The compiled form of a file of the project (see compile-programs.js), as what a process of a test runs: `src/web.ts`. */
export function program(file: string): string {
  return path.join(process.env["TEST_PROGRAMS"]!, file.replace(/\.ts$/, ".js"));
}
