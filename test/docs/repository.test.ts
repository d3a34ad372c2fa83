// The versions of Node that are named in several places, and the workflow of whoever keeps .github/.

import { existsSync, readFileSync } from "node:fs";
import { FIXED_NODE, missingNodeFixes } from "../../src/version.ts";

const fileOf = (name: string) => new URL(`../../${name}`, import.meta.url);
const read = (name: string) => readFileSync(fileOf(name), "utf8");
const { scripts, engines } = JSON.parse(read("package.json")) as {
  scripts: Record<string, string>;
  engines: { node: string };
};
// A fork may have removed them.
const where = (name: string) => (existsSync(fileOf(name)) ? it : it.skip);

describe("a version of Node", () => {
  it.each([
    [null, "22.23.4 22.24.0 24.22.1 24.100.0 26.12.1 27.0.0 28.1.0-nightly"],
    ["lacks security fixes", "22.23.3 22.9.9 24.22.0 24.3.4 26.12.0 26.0.0"],
    ["its line has ended", "18.20.0 20.20.2 21.7.3 23.11.0 25.9.0"],
  ])("with the verdict: %s", (verdict, versions) => {
    for (const node of versions.split(" "))
      expect([node, missingNodeFixes(node)]).toEqual([node, verdict && expect.stringContaining(verdict)]);
  });

  it("of .nvmrc and of the image has its security fixes, and engines allows the newest line", () => {
    const images = existsSync(fileOf("Dockerfile"))
      ? [...read("Dockerfile").matchAll(/^FROM (?:--\S+ )?node:([\d.]+)/gm)].map(([, node]) => node!)
      : [];
    for (const node of [read(".nvmrc").trim(), ...images])
      expect([node, missingNodeFixes(node)]).toEqual([node, null]);
    expect(engines.node).toMatch(new RegExp(` <${Number.parseInt(FIXED_NODE.at(-1)!) + 1}$`));
  });
});

where(".github/workflows/ci.yml")("the workflow runs commands that exist", () => {
  const text = read(".github/workflows/ci.yml");
  const named = [...text.matchAll(/npm run (?:--silent )?(\w[\w:-]*)|\brun: "?(test[\w:]*)/g)];
  expect(named.map(([, run, cell]) => run ?? cell!).filter((name) => !scripts[name])).toEqual([]);
});
