import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";

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

const { scripts, dependencies, devDependencies } = JSON.parse(read("package.json")) as Record<
  "scripts" | "dependencies" | "devDependencies",
  Record<string, string>
>;
const { packages } = JSON.parse(read("package-lock.json")) as { packages: Record<string, Locked> };
/** The workspaces, which npm links and does not download. */
const ours = Object.keys(packages).filter((place) => place.startsWith("packages/"));
const locked = Object.entries(packages)
  .filter(([place, { link }]) => place !== "" && !ours.includes(place) && !link)
  .map(([place, about]) => ({ name: place.split("node_modules/").at(-1)!, ...about }));
const manifestOf = (folder: string) =>
  JSON.parse(read(`${folder}/package.json`)) as { dependencies: Record<string, string> };
const shipped = locked.filter(({ dev, devOptional }) => !(dev || devOptional));

describe("packages that npm ci installs", () => {
  it("come from the registry, in one exact version each, with a hash", () => {
    const strange = locked.filter(
      ({ integrity, resolved = "https://registry.npmjs.org/" }) =>
        !/^sha512-/.test(integrity ?? "") || !resolved.startsWith("https://registry.npmjs.org/"),
    );
    expect(strange).toEqual([]);
    const wanted = ours.flatMap((folder) => Object.entries(manifestOf(folder).dependencies));
    const ranges = [...Object.entries({ ...dependencies, ...devDependencies }), ...wanted].filter(
      ([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
    );
    expect(ranges).toEqual([]);
  });

  it("run on the oldest Node that the kit supports", () => {
    const { engines } = JSON.parse(read("package.json")) as { engines: { node: string } };
    const [, oldest] = /^>=([\d.]+) /.exec(engines.node)!;
    const newer = locked.filter((each) => !satisfies(`${oldest}.0`, each.engines?.node ?? "*"));
    // A part of Prisma's own development server, which nothing here starts.
    expect(newer.map(({ name }) => name)).toEqual(["@prisma/streams-local"]);
  });

  it("run no install script", () => {
    const atInstall = [
      "preinstall",
      "install",
      "postinstall",
      "prepublish",
      "preprepare",
      "prepare",
      "postprepare",
    ];
    expect(Object.keys(scripts).filter((name) => atInstall.includes(name))).toEqual([]);
    expect(read(".npmrc")).toMatch(/^ignore-scripts=true$/m);
    expect(shipped.filter(({ hasInstallScript }) => hasInstallScript)).toEqual([]);
  });

  it("have run no install script here", () => {
    // The script of esbuild replaces this file by a binary, and that of Prisma downloads its engines.
    expect(read("node_modules/esbuild/bin/esbuild").slice(0, 19)).toBe("#!/usr/bin/env node");
    const engines = readdirSync(path.join(root, "node_modules/@prisma/engines"));
    expect(engines.filter((name) => /^(lib)?(schema|query)[-_]engine/.test(name))).toEqual([]);
  });
});

/** The packages that the sources in a folder import; `apart` are the folders in it that do not count. */
function packagesIn(folder: string, apart = /^$/): Set<string> {
  const sources = readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && !apart.test(name))
    .map((name) => read(`${folder}/${name}`));
  return new Set(
    sources.flatMap((text) =>
      [...text.matchAll(/(?:from |import\(|resolve\(|^import )"((?:@[\w.-]+\/)?[\w][\w.-]*)[^":]*"/gm)].map(
        ([, name]) => name!,
      ),
    ),
  );
}

it.each(ours)(
  "%s declares the packages that it imports, and no others, in the versions of the kit",
  (folder) => {
    const declared = manifestOf(folder).dependencies;
    // The checker's archive contains the platform that it plays.
    const compiled = folder === "packages/conformance" ? [folder, "packages/sandbox"] : [folder];
    const asked = compiled.flatMap((each) => [...packagesIn(each, /^(dist|examples|test)\//)]);
    expect(Object.keys(declared).sort()).toEqual([...new Set(asked)].sort());
    const others = { ...devDependencies, ...dependencies };
    const strange = Object.entries(declared).filter(
      ([name, version]) => (others[name] ?? version) !== version,
    );
    expect(strange).toEqual([]);
  },
);

describe("runtime dependencies", () => {
  const asked = packagesIn("src");

  it("are used: each is imported in src/ or by the generated Prisma client", () => {
    expect(Object.keys(dependencies).filter((name) => !asked.has(name))).toEqual([]);
  });

  it("are declared: src/ imports no development dependency", () => {
    expect([...asked].filter((name) => !dependencies[name])).toEqual([]);
  });
});

describe("npm run sbom", () => {
  const sbom = JSON.parse(
    execFileSync("npm", ["run", "--silent", "sbom"], { cwd: root, encoding: "utf8", maxBuffer: 10_000_000 }),
  ) as {
    bomFormat: string;
    components: { name: string; version: string; purl: string; hashes: object[]; licenses?: object[] }[];
    dependencies: { ref: string; dependsOn: string[] }[];
  };

  it("lists every runtime package, and no other, each with hash and licence", () => {
    expect(sbom.bomFormat).toBe("CycloneDX");
    const told = sbom.components.map(({ purl }) => decodeURIComponent(purl));
    expect(told.sort()).toEqual(
      [...new Set(shipped.map(({ name, version }) => `pkg:npm/${name}@${version}`))].sort(),
    );
    const bare = sbom.components.filter(({ hashes, licenses = [] }) => !hashes.length || !licenses.length);
    expect(bare.map(({ name }) => name)).toEqual([]);
  });

  it("lists the direct dependencies, including the database driver", () => {
    const names = sbom.components.map(({ name }) => name);
    expect(Object.keys(dependencies).filter((name) => !names.includes(name))).toEqual([]);
    expect(names).toEqual(expect.arrayContaining(["pg-protocol", "libsodium", "body-parser"]));
    expect(names).not.toContain("jest");
  });

  it("links each package to its dependencies", () => {
    const { dependsOn } = sbom.dependencies.find(({ ref }) => ref.startsWith("pg@"))!;
    expect(dependsOn).toEqual(expect.arrayContaining([expect.stringMatching(/^pg-pool@/)]));
  });
});
