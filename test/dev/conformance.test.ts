// `npm run conformance` without arguments: the kit's own service, with a database made for the purpose.

import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { aDatabaseServer, aTemporaryFolder, run } from "./dev-run.ts";

describe("npm run conformance against this service", () => {
  it("waits until the service has removed its last product, and leaves nothing behind", async () => {
    const { folder, left, remove } = await aTemporaryFolder();
    const words = ["--only", "PROV-01", "DEPR-01"];
    const { ended, output } = run("conformance", { TMPDIR: folder }, words);
    expect(await ended).toBe(0);
    expect(output()).not.toContain("Not all that follows a deprovision was done");
    expect(output()).toContain(": 2 passed, 0 broken, ");
    expect(await left()).toEqual([]);
    await remove();
  });

  it("of another service does not use what npm run dev made up for this one", async () => {
    const { folder, remove } = await aTemporaryFolder();
    await mkdir(path.join(folder, ".data"));
    await writeFile(path.join(folder, ".data/dev.env"), "ADDON_ID=teapots\nADDON_PASSWORD=made-up\n");
    const { ended, output } = run("conformance", {}, ["--url", "http://127.0.0.1:9"], folder);
    expect(await ended).not.toBe(0);
    expect(output()).toContain("Say who the platform is to the service: --id, or ADDON_ID.");
    await remove();
  });

  it("leaves nothing behind when it is stopped by Ctrl-C", async () => {
    const { DATABASE_URL, made, isLeft } = aDatabaseServer();
    const { end, output } = run("conformance", { DATABASE_URL }, ["--only", "PROV-01", "DEPR-06"]);
    // The migration had one connection; the service has several.
    await made(2);
    expect(await end("SIGINT")).toBe(130);
    expect(output()).toMatch(/^Stopping: [^]+\n✗ Stopped: nothing is judged\.\n$/);
    expect(await isLeft()).toBe(false);
  });
});
