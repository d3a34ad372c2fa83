import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string) => readFileSync(path.join(root, file), "utf8");
const { satisfies } = createRequire(import.meta.url)("semver") as {
  satisfies(version: string, range: string): boolean;
};

interface Locked {
  version: string;
  engines?: { node?: string };
  integrity?: string;
  resolved?: string;
  link?: true;
  hasInstallScript?: true;
  dev?: true;
  devOptional?: true;
}
interface Manifest {
  scripts: Record<string, string>;
  engines: { node: string };
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}

const { scripts, engines, dependencies, devDependencies } = JSON.parse(read("package.json")) as Manifest;
const { packages } = JSON.parse(read("package-lock.json")) as { packages: Record<string, Locked> };
/** The workspaces, which npm links and does not download. */
const ours = Object.keys(packages).filter((place) => place.startsWith("packages/"));
const manifestOf = (folder: string) => JSON.parse(read(`${folder}/package.json`)) as Manifest;
const locked = Object.entries(packages)
  .filter(([place, { link }]) => place !== "" && !ours.includes(place) && !link)
  .map(([place, about]) => ({ name: place.split("node_modules/").at(-1)!, ...about }));
const shipped = locked.filter(({ dev, devOptional }) => !(dev || devOptional));

describe("packages that npm ci installs", () => {
  it("come from the registry, in one exact version each, with a hash", () => {
    const registry = "https://registry.npmjs.org/";
    const strange = locked.filter(
      ({ integrity, resolved = registry }) =>
        !/^sha512-/.test(integrity ?? "") || !resolved.startsWith(registry),
    );
    expect(strange).toEqual([]);
    const all = [dependencies, devDependencies, ...ours.map((folder) => manifestOf(folder).dependencies)];
    const versions = all.flatMap((each) => Object.values(each));
    expect(versions.filter((version) => !/^(npm:[\w@/-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual(
      [],
    );
  });

  it("run on the oldest Node that the kit supports", () => {
    const [, oldest] = /^>=([\d.]+) /.exec(engines.node)!;
    const newer = locked.filter((each) => !satisfies(`${oldest}.0`, each.engines?.node ?? "*"));
    // A part of Prisma's own development server, which nothing here starts.
    expect(newer.map(({ name }) => name)).toEqual(["@prisma/streams-local"]);
  });

  it("run no install script", () => {
    const atInstall = /^(pre|post)?(install|prepare)$|^prepublish$/;
    expect(Object.keys(scripts).filter((name) => atInstall.test(name))).toEqual([]);
    expect(read(".npmrc")).toMatch(/^ignore-scripts=true$/m);
    expect(shipped.filter(({ hasInstallScript }) => hasInstallScript)).toEqual([]);
  });
});

/** The packages that the sources in a folder import; `apart` are the folders in it that do not count. */
function packagesIn(folder: string, apart = /^$/): string[] {
  const sources = readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && !apart.test(name))
    .map((name) => read(`${folder}/${name}`));
  const imports = /(?:from |import\(|resolve\(|^import )"((?:@[\w.-]+\/)?[\w][\w.-]*)[^":]*"/gm;
  return [...new Set(sources.flatMap((text) => [...text.matchAll(imports)].map(([, name]) => name!)))];
}

it.each(ours)("%s declares the packages that it imports, in the versions of the kit", (folder) => {
  const declared = manifestOf(folder).dependencies;
  // The checker's archive contains the platform that it plays.
  const compiled = folder === "packages/conformance" ? [folder, "packages/sandbox"] : [folder];
  const imported = compiled.flatMap((each) => packagesIn(each, /^(dist|examples|test)\//));
  expect(Object.keys(declared).sort()).toEqual([...new Set(imported)].sort());
  const ofTheKit = { ...devDependencies, ...dependencies };
  const others = Object.entries(declared).filter(
    ([name, version]) => (ofTheKit[name] ?? version) !== version,
  );
  expect(others).toEqual([]);
});

it("the runtime dependencies are the packages that src/ imports", () => {
  expect(packagesIn("src").sort()).toEqual(Object.keys(dependencies).sort());
});

it("npm run sbom lists every runtime package, and no other, with hash, licence and dependencies", () => {
  const how = { cwd: root, encoding: "utf8", maxBuffer: 10_000_000 } as const;
  const sbom = JSON.parse(execFileSync("npm", ["run", "--silent", "sbom"], how)) as {
    components: { name: string; purl: string; hashes: object[]; licenses?: object[] }[];
    dependencies: { ref: string; dependsOn: string[] }[];
  };
  const listed = sbom.components.map(({ purl }) => decodeURIComponent(purl)).sort();
  expect(listed).toEqual(
    [...new Set(shipped.map(({ name, version }) => `pkg:npm/${name}@${version}`))].sort(),
  );
  const bare = sbom.components.filter(({ hashes, licenses = [] }) => !hashes.length || !licenses.length);
  expect(bare.map(({ name }) => name)).toEqual([]);
  const { dependsOn } = sbom.dependencies.find(({ ref }) => ref.startsWith("pg@"))!;
  expect(dependsOn).toEqual(expect.arrayContaining([expect.stringMatching(/^pg-pool@/)]));
});

// A fork may have removed these.
const has = (name: string) => existsSync(path.join(root, name));

it("the versions of Node of .nvmrc and of the image are among those that the README names for production", () => {
  const images = has("Dockerfile")
    ? [...read("Dockerfile").matchAll(/^FROM (?:--\S+ )?node:([\d.]+)/gm)].map(([, node]) => node!)
    : [];
  const named = read("README.md").match(/\d+\.\d+\.\d+/g)!;
  expect(named).toEqual(expect.arrayContaining([read(".nvmrc").trim(), ...images]));
  expect(engines.node).toMatch(new RegExp(` <${Number.parseInt(named[2]!) + 1}$`));
});

(has(".github/workflows/ci.yml") ? it : it.skip)("the workflow runs commands that exist", () => {
  const text = read(".github/workflows/ci.yml");
  const named = [...text.matchAll(/npm run (?:--silent )?(\w[\w:-]*)|\brun: "?(test[\w:]*)/g)];
  expect(named.map(([, run, cell]) => run ?? cell!).filter((name) => !scripts[name])).toEqual([]);
});
