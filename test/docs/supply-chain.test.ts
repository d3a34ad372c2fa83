import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { type Dirent, existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
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
  deprecated?: string;
}
interface Manifest {
  scripts: Record<string, string>;
  engines: { node: string };
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  name: string;
}

const { scripts, engines, dependencies, devDependencies } = JSON.parse(read("package.json")) as Manifest;
const { packages } = JSON.parse(read("package-lock.json")) as { packages: Record<string, Locked> };
/** The workspaces, which npm links and does not download. */
const ours = Object.keys(packages).filter((place) => place.startsWith("packages/"));
/** Those that production does not install, because the build takes in what it needs of them. */
const builtIn = JSON.parse(read("dev/built-in.json")) as string[];
const manifestOf = (folder: string) =>
  JSON.parse(read(`${folder}/package.json`)) as Omit<Manifest, "devDependencies"> & Partial<Manifest>;
const locked = Object.entries(packages)
  .filter(([place, { link }]) => place.startsWith("node_modules/") && !link)
  .map(([place, about]) => ({ name: place.split("node_modules/").at(-1)!, ...about }));
const shipped = locked.filter(
  ({ name, dev, devOptional }) => builtIn.includes(name) || !(dev || devOptional),
);

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
    const one = /^(npm:[\w@/-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$|^file:dev\/left-out\//;
    expect(versions.filter((version) => !one.test(version))).toEqual([]);
  });

  it("run on the oldest Node that the kit supports, and on each line that is in use, so that npm warns of none", () => {
    const [, oldest] = /^>=([\d.]+) /.exec(engines.node)!;
    const choosy = [`${oldest}.0`, "22.22.2", "24.15.0", "26.0.0"].flatMap((node) =>
      locked.filter((each) => !satisfies(node, each.engines?.node ?? "*")).map(({ name }) => [node, name]),
    );
    expect(choosy).toEqual([]);
  });

  it("are without those that stand-ins replace, and none is deprecated", () => {
    const leftOut = readdirSync(path.join(root, "dev/left-out")).map(
      (folder) => (JSON.parse(read(`dev/left-out/${folder}/package.json`)) as { name: string }).name,
    );
    // One that is here has another version than its stand-in: give dev/left-out/NAME/package.json the one that is wanted.
    expect(locked.filter(({ name }) => leftOut.includes(name))).toEqual([]);
    expect(locked.filter(({ deprecated }) => deprecated)).toEqual([]);
  });

  it("weigh at most 470 MB, and at most 90 in production", () => {
    const places = Object.keys(packages).filter((place) => place.startsWith("node_modules/"));
    const weigh = (some: string[]) => some.reduce((sum, place) => sum + bytesIn(place), 0) / 2 ** 20;
    expect(weigh(places)).toBeLessThanOrEqual(470);
    const isShipped = (place: string) => !(packages[place]!.dev || packages[place]!.devOptional);
    expect(weigh(places.filter(isShipped))).toBeLessThanOrEqual(90);
  });

  it("run no install script", () => {
    const atInstall = /^(pre|post)?(install|prepare)$|^prepublish$/;
    expect(Object.keys(scripts).filter((name) => atInstall.test(name))).toEqual([]);
    expect(read(".npmrc")).toMatch(/^ignore-scripts=true$/m);
    expect(shipped.filter(({ hasInstallScript }) => hasInstallScript)).toEqual([]);
  });
});

/** What a package takes on the disk without those that are inside it, in bytes; 0 if it is not for this system. */
function bytesIn(place: string): number {
  const folder = path.join(root, place);
  if (!existsSync(folder) || packages[place]!.link) return 0;
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => sum + bytesOf(folder, entry), 0);
}

function bytesOf(folder: string, entry: Dirent): number {
  const file = path.join(folder, entry.name);
  const own = lstatSync(file).blocks * 512;
  if (!entry.isDirectory() || entry.name === "node_modules") return own;
  return readdirSync(file, { withFileTypes: true }).reduce((sum, each) => sum + bytesOf(file, each), own);
}

/** The packages that the sources in a folder import; `apart` are the folders in it that do not count. */
function packagesIn(folder: string, apart = /^$/): string[] {
  const sources = readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && !apart.test(name))
    .map((name) => read(`${folder}/${name}`));
  const imports = /(?:from |import\(|resolve\(|^import )"((?:@[\w.-]+\/)?[\w][\w.-]*)[^":]*"/gm;
  return [...new Set(sources.flatMap((text) => [...text.matchAll(imports)].map(([, name]) => name!)))];
}

it.each(ours)("%s declares the packages that it imports, in the versions of the kit", (folder) => {
  const { name, dependencies: shipped, devDependencies: packed = {} } = manifestOf(folder);
  // Of a dev dependency the archive brings the file that it needs; `test/packed.test.ts` of the package shows that.
  const declared = { ...shipped, ...packed };
  // The checker's archive contains the platform that it plays, without its server for assistants.
  const isChecker = folder === "packages/conformance";
  const compiled = isChecker ? [folder, "packages/sandbox"] : [folder];
  const apart = isChecker ? /^(dist|examples|mcp|test)\// : /^(dist|examples|test)\//;
  const imported = compiled.flatMap((each) => packagesIn(each, apart)).filter((each) => each !== name);
  expect(Object.keys(declared).sort()).toEqual([...new Set(imported)].sort());
  const ofTheKit = { ...devDependencies, ...dependencies };
  const others = Object.entries(declared).filter(
    ([name, version]) => (ofTheKit[name] ?? version) !== version,
  );
  expect(others).toEqual([]);
});

it("the runtime dependencies are the packages that src/ imports, but for those that the build takes in", () => {
  const installed = packagesIn("src").filter((name) => !builtIn.includes(name));
  expect(installed.sort()).toEqual(Object.keys(dependencies).sort());
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

it.each([
  [200, 0, /^found 0 vulnerabilities$/m],
  [
    403,
    69,
    /^The registry http:\/\/127\.0\.0\.1:\d+ did not say what is vulnerable: 403 .*\(exit code 69\)/m,
  ],
])("npm run audit, where the registry answers %d, exits with %d and says so", async (status, code, words) => {
  const registry = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { "content-type": "application/json" }).end("{}");
  }).listen(0, "127.0.0.1");
  await once(registry, "listening");
  const address = `--registry=http://127.0.0.1:${(registry.address() as AddressInfo).port}`;
  const child = spawn("npm", ["run", "--silent", "audit", address], { cwd: root });
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  const [ended] = (await once(child, "close")) as [number];
  registry.closeAllConnections();
  registry.close();
  expect((await said).join("\n")).toMatch(words);
  expect(ended).toBe(code);
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

const workflows = has(".github/workflows")
  ? readdirSync(path.join(root, ".github/workflows")).map((file) => `.github/workflows/${file}`)
  : [];
/** What a fork may use of its own is not for us to pin. */
const kitWorkflows = ["ci.yml", "release.yml"]
  .map((name) => `.github/workflows/${name}`)
  .filter((file) => workflows.includes(file));
const inWorkflows = kitWorkflows.length > 0 ? it : it.skip;

inWorkflows("the workflows run commands that exist", () => {
  const named = kitWorkflows.flatMap((file) => [
    ...read(file).matchAll(/npm run (?:--silent )?(\w[\w:-]*)|\brun: "?(test[\w:]*)/g),
  ]);
  expect(named.length).toBeGreaterThan(10);
  expect(named.map(([, run, cell]) => run ?? cell!).filter((name) => !scripts[name])).toEqual([]);
  const programs = kitWorkflows.flatMap((file) =>
    [...read(file).matchAll(/\bnode (\S+\.mjs)/g)].map(([, name]) => name!),
  );
  expect(programs.filter((name) => !has(name))).toEqual([]);
});

inWorkflows(
  "the workflows and the action use other actions by their commit, and each one by one commit",
  () => {
    const uses = [...kitWorkflows, "action.yml"].filter(has).flatMap((file) =>
      [...read(file).matchAll(/uses: (\S+)(.*)$/gm)].map(([, name, comment]) => ({
        name: name!,
        comment: comment!,
      })),
    );
    const others = uses.filter(({ name }) => !name.startsWith("./"));
    expect(others.length).toBeGreaterThan(10);
    expect(
      others.filter((each) => !/@[0-9a-f]{40}$/.test(each.name) || !/^ # v[\d.]+$/.test(each.comment)),
    ).toEqual([]);
    const commits = new Map(others.map(({ name }) => name.split("@") as [string, string]));
    expect(others.filter(({ name }) => commits.get(name.split("@")[0]!) !== name.split("@")[1])).toEqual([]);
  },
);

inWorkflows("the workflows may only read, but for the jobs that make a release", () => {
  for (const file of kitWorkflows) expect(read(file)).toMatch(/^permissions:\n {2}contents: read\n/m);
  expect(kitWorkflows.filter((file) => /^ {4}permissions:/m.test(read(file)))).toEqual(
    kitWorkflows.filter((file) => file.endsWith("release.yml")),
  );
});
