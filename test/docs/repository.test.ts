// The versions of Node that are named in several places, and the workflow of whoever keeps .github/.

import { existsSync, readFileSync } from "node:fs";

const fileOf = (name: string) => new URL(`../../${name}`, import.meta.url);
const read = (name: string) => readFileSync(fileOf(name), "utf8");
const { scripts, engines } = JSON.parse(read("package.json")) as {
  scripts: Record<string, string>;
  engines: { node: string };
};
// A fork may have removed them.
const where = (name: string) => (existsSync(fileOf(name)) ? it : it.skip);

it("the versions of Node of .nvmrc and of the image are among those that the README names for production", () => {
  const images = existsSync(fileOf("Dockerfile"))
    ? [...read("Dockerfile").matchAll(/^FROM (?:--\S+ )?node:([\d.]+)/gm)].map(([, node]) => node!)
    : [];
  const named = read("README.md").match(/\d+\.\d+\.\d+/g)!;
  expect(named).toEqual(expect.arrayContaining([read(".nvmrc").trim(), ...images]));
  expect(engines.node).toMatch(new RegExp(` <${Number.parseInt(named[2]!) + 1}$`));
});

where(".github/workflows/ci.yml")("the workflow runs commands that exist", () => {
  const text = read(".github/workflows/ci.yml");
  const named = [...text.matchAll(/npm run (?:--silent )?(\w[\w:-]*)|\brun: "?(test[\w:]*)/g)];
  expect(named.map(([, run, cell]) => run ?? cell!).filter((name) => !scripts[name])).toEqual([]);
});
