import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";

const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * The layers of src/, the ground first: no file imports, at run time, from a layer above its own. A room is a folder or
 * a file of src/. Types may be imported from anywhere, as long as no circle comes of it.
 */
const LAYERS: readonly (readonly string[])[] = [
  "close-all context errors json-object node-version pace redact secret uuid version within".split(" "),
  "database http logging manifest platform setting vault".split(" "),
  "config environment your-service".split(" "),
  "credentials metrics pages partner-api people resources work".split(" "),
  ["app", "jobs"],
  ["open-context"],
  ["kit", "operator", "operator-pages", "process", "website"],
  ["web", "worker"],
];

interface Import {
  from: string;
  to: string;
  isType: boolean;
  isDynamic: boolean;
}

const files = sourceFiles(path.join(root, "src"));
const imports = files.flatMap(importsOf);

describe("the imports between folders", () => {
  it("go down the layers, or stay on one", () => {
    const layerOf = (file: string) => LAYERS.findIndex((rooms) => rooms.includes(roomOf(file)));
    expect(files.filter((file) => layerOf(file) === -1)).toEqual([]);
    const upward = imports.filter(({ from, to, isType }) => !isType && layerOf(to) > layerOf(from));
    expect(upward.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  it("leave src only for packages, and the sandbox imports nothing of src", () => {
    expect(imports.filter(({ to }) => !to.startsWith("src/"))).toEqual([]);
    const inSandbox = sourceFiles(path.join(root, "packages/sandbox")).flatMap(importsOf);
    expect(inSandbox.filter(({ to }) => to.startsWith("src/"))).toEqual([]);
  });

  it.each(["src", "packages"])(
    "has no files in %s that import each other in a circle, not even for types",
    (folder) => {
      let arrows = sourceFiles(path.join(root, folder)).flatMap(importsOf);
      // An arrow from a file that nothing points at, or to one that points at nothing, is in no circle.
      for (let before = -1; before !== arrows.length;) {
        before = arrows.length;
        const [sources, targets] = [
          new Set(arrows.map(({ from }) => from)),
          new Set(arrows.map(({ to }) => to)),
        ];
        arrows = arrows.filter(({ from, to }) => targets.has(from) && sources.has(to));
      }
      expect(arrows.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
    },
  );

  it("keep the conformance checker separate: it imports only packages/sandbox/index.ts, and nothing imports it", () => {
    const sources = sourceFiles(path.join(root, "packages/conformance")).filter(
      (file) => !file.includes("/test/"),
    );
    const inChecker = sources.flatMap(importsOf);
    const outward = inChecker.map(({ to }) => to).filter((to) => !to.startsWith("packages/conformance/"));
    expect([...new Set(outward)]).toEqual(["packages/sandbox/index.ts"]);
    const others = ["src", "packages/sandbox"].flatMap((folder) =>
      sourceFiles(path.join(root, folder)).flatMap(importsOf),
    );
    expect(others.filter(({ to }) => to.startsWith("packages/conformance/"))).toEqual([]);
  });

  it("of the conformance example are of Node alone", () => {
    const example = sourceFiles(path.join(root, "packages/conformance/examples"));
    expect(
      example.flatMap(importsOf).filter(({ to }) => !to.startsWith("packages/conformance/examples/")),
    ).toEqual([]);
    const packages = example
      .flatMap((file) => [...read(file).matchAll(/from "([^."][^"]*)"/g)])
      .map(([, name]) => name!);
    expect(packages.filter((name) => !name.startsWith("node:"))).toEqual([]);
  });

  it("use each library in one place", () => {
    // The libraries of your service are your choice.
    const ours = files.filter((file) => roomOf(file) !== "your-service");
    const users = (name: string) => ours.filter((file) => read(file).includes(`from "${name}`));
    expect(users("node-cron").sort()).toEqual(["src/jobs/run.ts", "src/setting.ts"]);
    expect(users("libsodium-wrappers").every((file) => file.startsWith("src/vault/"))).toBe(true);
    expect(users("pg").every((file) => file.startsWith("src/database/"))).toBe(true);
    expect(users("zod").every((file) => file.startsWith("src/manifest/"))).toBe(true);
  });

  it("load the manifest's schema only dynamically outside src/manifest", () => {
    const others = files.filter((file) => roomOf(file) !== "manifest");
    const atStart = /^(?:import|export)\s+(?!type\s)[^;]*?from\s+"[^"]*\/manifest\//m;
    expect(others.filter((file) => atStart.test(read(file)))).toEqual([]);
  });

  it("keep the web out of commands and workers: neither loads Express or src/pages", () => {
    // Commands import some of their parts only when they need them.
    const ofCommands = files.filter((file) => ["kit", "operator"].includes(roomOf(file)));
    for (const start of ["src/open-context.ts", "src/worker.ts", "src/process/start-up.ts", ...ofCommands]) {
      const loaded = loadedBy(start);
      if (start === "src/worker.ts") expect(loaded).toContain("src/work/runner.ts");
      const web = loaded.filter((file) => /^import (?!type )[^;]*from "express"/m.test(read(file)));
      expect([...web, ...loaded.filter((file) => /^src\/(pages|website)/.test(file))]).toEqual([]);
    }
  });

  it("keep pages out of a web process that has none", () => {
    const loaded = loadedBy("src/process/run-web.ts");
    expect(loaded).toContain("src/website.ts");
    const optional = /^src\/(operator-pages\/|people\/sign-in|people\/customers)/;
    expect(loaded.filter((file) => optional.test(file))).toEqual([]);
  });

  it("leave process.env to one file", () => {
    expect(files.filter((file) => read(file).includes("process.env"))).toEqual(["src/environment.ts"]);
  });

  it("of the kit's tests do not include src/your-service", () => {
    const tests = sourceFiles(path.join(root, "test")).filter(
      (file) => !file.startsWith("test/your-service/"),
    );
    const users = tests.filter((file) =>
      importsOf(file).some(({ to }) => to.startsWith("src/your-service/")),
    );
    // The one lets a fork's own tests use its service; the other reads the fork's files, whatever they contain.
    expect(users.sort()).toEqual(["test/docs/deploy-files.test.ts", "test/support/sellers.ts"]);
  });

  it("lead to no folder for miscellaneous code", () => {
    const drawers = /(^|\/)(utils?|helpers?|lib|common|core|managers?|misc)(\/|\.ts$)/;
    const ours = [...files, ...sourceFiles(path.join(root, "packages/sandbox"))];
    // The file names of your service are your choice too.
    expect(ours.filter((file) => roomOf(file) !== "your-service" && drawers.test(file))).toEqual([]);
  });
});

/** The files that are loaded with this one: it, what it imports for more than types, and what these import. */
function loadedBy(start: string): string[] {
  const loaded = new Set([start]);
  for (const file of loaded)
    for (const { to, isType, isDynamic } of importsOf(file)) if (!isType && !isDynamic) loaded.add(to);
  return [...loaded];
}

/** The folder of a file below src/, or its own name. */
function roomOf(file: string): string {
  const [, first = ""] = file.split("/");
  return first.replace(/\.tsx?$/, "");
}

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && !name.startsWith("database/client/"))
    .map((name) => path.relative(root, path.join(folder, name)));
}

function read(file: string): string {
  return readFileSync(path.join(root, file), "utf8");
}

function importsOf(file: string): Import[] {
  const found = read(file).matchAll(
    /^(?:import|export)\s+(type\s)?[^;]*?from\s+"(\.[^"]+)"|import\("(\.[^"]+)"\)/gm,
  );
  return [...found].map(([, type, fixed, dynamic]) => ({
    from: file,
    to: path.join(path.dirname(file), (fixed ?? dynamic)!),
    isType: type !== undefined,
    isDynamic: fixed === undefined,
  }));
}
