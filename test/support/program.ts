import { existsSync } from "node:fs";
import { cp, rename, rm } from "node:fs/promises";
import path from "node:path";

/**
 * The compiled form of a file of the project, such as `src/web.ts`, for a process of a test (see compile-programs.js).
 */
export function program(file: string): string {
  return compiledIn(programs(), file);
}

/**
 * The same programs with another service than the teapots: `your-service`, or that of an example, copied as a person
 * who tries the example would.
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
  // Another run may have put the same folder there meanwhile.
  await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true }));
}

const programs = () => process.env["TEST_PROGRAMS"]!;
const compiledIn = (folder: string, file: string) => path.join(folder, file.replace(/\.ts$/, ".js"));
