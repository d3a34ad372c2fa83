import { aTemporaryFolder, run } from "./dev-run.ts";

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
});
