import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { layerOf, roomOf } from "../support/layers.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

interface Import {
  from: string;
  to: string;
  isType: boolean;
}

const files = sourceFiles(path.join(root, "src"));
const imports = files.flatMap(importsOf);

describe("the imports between folders", () => {
  it("go down the layers, or stay on one", () => {
    expect(files.filter((file) => layerOf(file) === -1)).toEqual([]);
    const upward = imports.filter(({ from, to, isType }) => !isType && layerOf(to) > layerOf(from));
    expect(upward.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  it("leave src only for packages, and the sandbox imports nothing of src", () => {
    expect(imports.filter(({ to }) => !to.startsWith("src/"))).toEqual([]);
    const inSandbox = sourceFiles(path.join(root, "packages/sandbox")).flatMap(importsOf);
    expect(inSandbox.filter(({ to }) => to.startsWith("src/"))).toEqual([]);
  });

  it.each(["src", "packages"])("in %s make no circle, not even for types", (folder) => {
    let arrows = sourceFiles(path.join(root, folder)).flatMap(importsOf);
    // An arrow from a file that nothing points at, or to one that points at nothing, is in no circle.
    for (let before = -1; before !== arrows.length;) {
      before = arrows.length;
      const sources = new Set(arrows.map(({ from }) => from));
      const targets = new Set(arrows.map(({ to }) => to));
      arrows = arrows.filter(({ from, to }) => targets.has(from) && sources.has(to));
    }
    expect(arrows.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  it("keep the conformance checker separate: it imports only packages/sandbox/index.ts, and nothing imports it", () => {
    const sources = sourceFiles(path.join(root, "packages/conformance"));
    const inChecker = sources.filter((file) => !file.includes("/test/")).flatMap(importsOf);
    const outward = inChecker.map(({ to }) => to).filter((to) => !to.startsWith("packages/conformance/"));
    expect([...new Set(outward)]).toEqual(["packages/sandbox/index.ts"]);
    const others = ["src", "packages/sandbox"].flatMap((folder) =>
      sourceFiles(path.join(root, folder)).flatMap(importsOf),
    );
    expect(others.filter(({ to }) => to.startsWith("packages/conformance/"))).toEqual([]);
  });

  it("use each library in one place", () => {
    // The libraries of your service are your choice.
    const ours = files.filter((file) => roomOf(file) !== "your-service");
    const users = (name: string) => ours.filter((file) => read(file).includes(`from "${name}`));
    for (const [name, room] of Object.entries({
      "libsodium-wrappers": "vault",
      pg: "database",
      zod: "manifest",
    }))
      expect(users(name).filter((file) => roomOf(file) !== room)).toEqual([]);
  });

  it("leave SQL with numbered parameters to a vendor, whose own statements pass through extend/kit.ts", () => {
    // `$1` is also what a replacement by a regular expression found, and stands in comments.
    const isSql = (line: string) => /\$[1-9]/.test(line) && !/\.replace\(|^\s*(\*|\/[/*])/.test(line);
    const numbered = files.filter((file) => read(file).split("\n").some(isSql));
    expect(numbered).toEqual([]);
    const users = files.filter((file) => /\bpositional\(/.test(read(file)));
    expect(users).toEqual(["src/extend/kit.ts"]);
  });

  it("leave process.env to one file", () => {
    expect(files.filter((file) => read(file).includes("process.env"))).toEqual(["src/environment.ts"]);
  });

  it("of the kit's tests do not include src/your-service", () => {
    const imported = sourceFiles(path.join(root, "test")).flatMap(importsOf);
    const inYours = imported.filter(({ to }) => to.startsWith("src/your-service/")).map(({ from }) => from);
    const users = [...new Set(inYours)].filter((file) => !file.startsWith("test/your-service/"));
    // The one lets a fork's own tests use its service; the other reads the fork's files, whatever they contain.
    expect(users.sort()).toEqual(["test/docs/deploy-files.test.ts", "test/support/sellers.ts"]);
  });
});

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && !/^(database|your-service)\/client\//.test(name))
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
  }));
}
