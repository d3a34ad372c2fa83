// `npm run conformance` without arguments: the kit's own service, with a database in a temporary folder.

import { afterEach, describe, expect, it } from "@jest/globals";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { eventually } from "../support/world.ts";
import { run } from "./dev-run.ts";

const folders: string[] = [];
afterEach(() => Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true }))));

async function conformance(...only: string[]) {
  const folder = await mkdtemp(path.join(tmpdir(), "conformance-run-"));
  folders.push(folder);
  /** Temporary folders of its databases; tsx keeps others. */
  async function left() {
    const names = await readdir(folder, { recursive: true });
    return names.filter((name) => name.startsWith("conformance-"));
  }
  return { ...run("conformance", { TMPDIR: folder }, ["--only", ...only]), left };
}

describe("npm run conformance against this service", () => {
  it("waits until the service has removed its last product, and leaves nothing behind", async () => {
    const { ended, output, left } = await conformance("PROV-01", "DEPR-01");
    expect(await ended).toBe(0);
    expect(output()).not.toContain("Not all that follows a deprovision was done");
    expect(output()).toContain(": 2 passed, 0 broken, ");
    expect(await left()).toEqual([]);
  });

  it("of another service does not use what npm run dev made up for this one", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "conformance-other-"));
    folders.push(folder);
    await mkdir(path.join(folder, ".data"));
    await writeFile(path.join(folder, ".data/dev.env"), "ADDON_ID=teapots\nADDON_PASSWORD=made-up\n");
    const { ended, output } = run("conformance", {}, ["--url", "http://127.0.0.1:9"], folder);
    expect(await ended).not.toBe(0);
    expect(output()).toContain("Say who the platform is to the service: --id, or ADDON_ID.");
  });

  it("leaves nothing behind when it is stopped by Ctrl-C", async () => {
    const { ended, end, output, left } = await conformance("PROV-01", "DEPR-06");
    // The service has started to create its database.
    await eventually(async () => (await left()).length > 1);
    expect(await end("SIGINT")).toBe(130);
    await ended;
    expect(output()).toMatch(/^Stopping: [^]+\n✗ Stopped: nothing is judged\.\n$/);
    expect(await left()).toEqual([]);
  });
});
