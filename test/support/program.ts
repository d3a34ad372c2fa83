import { existsSync } from "node:fs";
import { cp, rename, rm } from "node:fs/promises";
import path from "node:path";

/** The compiled form of a file of the project (see compile-programs.js), as what a process of a test runs: `src/web.ts`. */
export function program(file: string): string {
  return compiledIn(programs(), file);
}

/**
 * The same programs with another service in the place of the teapots: `your-service`, or that of an example. They are
 * copied, as whoever tries an example copies it.
 */
export async function programsSelling(service: string): Promise<typeof program> {
  const folder = `${programs()}.${service.replaceAll("/", "-")}`;
  if (!existsSync(folder)) await copyPrograms(service, folder);
  return (file) => compiledIn(folder, file);
}

async function copyPrograms(service: string, folder: string): Promise<void> {
  const unfinished = `${folder}.${process.pid}`;
  await cp(programs(), unfinished, { recursive: true });
  await rm(path.join(unfinished, "src/your-service"), { recursive: true });
  await cp(path.join(programs(), service), path.join(unfinished, "src/your-service"), { recursive: true });
  // Another run may have put the same there meanwhile.
  await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true }));
}

const programs = () => process.env["TEST_PROGRAMS"]!;
const compiledIn = (folder: string, file: string) => path.join(folder, file.replace(/\.ts$/, ".js"));
