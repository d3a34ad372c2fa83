// The script `kit` of package.json, in a folder whose build writes down that it ran.

import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

const { scripts } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
) as { scripts: { kit: string } }; // prettier-ignore
const BUILD = `console.log("building"); fs.mkdirSync("dist", { recursive: true }); fs.writeFileSync("dist/kit.js", "console.log('new')")`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "fresh-build-"));
  const manifest = {
    name: "a-kit",
    scripts: { kit: scripts.kit, build: `node -e ${JSON.stringify(BUILD)}` },
  };
  await put("package.json", JSON.stringify(manifest));
});
afterEach(() => rm(folder, { recursive: true }));

async function put(file: string, text = "", writtenSecondsAgo = 60): Promise<void> {
  const place = path.join(folder, file);
  await mkdir(path.dirname(place), { recursive: true });
  await writeFile(place, text, { mode: 0o755 });
  const at = Date.now() / 1000 - writtenSecondsAgo;
  await utimes(place, at, at);
}

const aCheckout = async () => {
  for (const file of ["src/your-service/plans.ts", "prisma/schema.prisma", "tsconfig.json"]) await put(file);
  await put("node_modules/.bin/tsc");
};
const aBuild = (writtenSecondsAgo: number) => put("dist/kit.js", "console.log('old')", writtenSecondsAgo);

function kit() {
  const { stdout, stderr } = spawnSync("npm", ["run", "--silent", "kit"], { cwd: folder, encoding: "utf8" });
  return { ran: stdout.trim(), hasBuilt: stderr.includes("building") };
}

describe("npm run kit", () => {
  it("builds what was never built, and not what is as new as its sources", async () => {
    await aCheckout();
    expect(kit()).toEqual({ ran: "new", hasBuilt: true });
    await aBuild(30);
    expect(kit()).toEqual({ ran: "old", hasBuilt: false });
  });

  it.each(["src/your-service/plans.ts", "prisma/schema.prisma", "tsconfig.build.json"])(
    "builds again after a change of %s",
    async (file) => {
      await aCheckout();
      await aBuild(30);
      await put(file, "", 10);
      expect(kit()).toEqual({ ran: "new", hasBuilt: true });
    },
  );

  it("takes the generated client for no change", async () => {
    await aCheckout();
    await aBuild(30);
    await put("src/database/client/client.ts", "", 10);
    expect(kit()).toEqual({ ran: "old", hasBuilt: false });
  });

  it("never builds where the service is deployed: without the compiler, or with nothing but the build", async () => {
    await aBuild(30);
    expect(kit()).toEqual({ ran: "old", hasBuilt: false });
    await put("src/your-service/plans.ts", "", 10);
    expect(kit()).toEqual({ ran: "old", hasBuilt: false });
  });
});
