import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

// Writes the packages the service runs with to standard output, as CycloneDX: npm run --silent sbom > sbom.cdx.json
// npm's own `--omit dev` is not used, because it also leaves out packages that both production and a dev dependency
// need, such as pg (https://github.com/npm/cli/issues/7909). So npm lists everything, and the lockfile says what ships.

const root = fileURLToPath(new URL("..", import.meta.url));
const all = JSON.parse(
  execFileSync("npm", ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only"], {
    cwd: root,
    // There, npm is a script for cmd.exe.
    shell: process.platform === "win32",
    encoding: "utf8",
    maxBuffer: 100_000_000,
    stdio: ["ignore", "pipe", "inherit"],
  }),
) as Sbom;
const builtIn = JSON.parse(readFileSync(`${root}/dev/built-in.json`, "utf8")) as string[];
const shipped = shippedPackages();
const itself = all.metadata.component["bom-ref"];
const isShipped = (ref: string) => ref === itself || shipped.has(ref);

console.log(
  JSON.stringify(
    {
      ...all,
      components: all.components.filter((each) => isShipped(each["bom-ref"])),
      dependencies: all.dependencies
        .filter(({ ref }) => isShipped(ref))
        .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(isShipped) })),
    },
    null,
    2,
  ),
);

/** `name@version` of everything that `npm ci --omit=dev` downloads, and of what the build takes in. */
function shippedPackages(): Set<string> {
  const { packages } = JSON.parse(readFileSync(`${root}/package-lock.json`, "utf8")) as Lockfile;
  const installed = Object.entries(packages).filter(
    ([place, { dev, devOptional, link }]) =>
      builtIn.includes(place.replace("node_modules/", "")) ||
      (place.startsWith("node_modules/") && !link && !dev && !devOptional),
  );
  return new Set(
    installed.map(([place, { version }]) => `${place.split("node_modules/").at(-1)}@${version}`),
  );
}

interface Sbom {
  metadata: { component: { "bom-ref": string } };
  components: { "bom-ref": string }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

interface Lockfile {
  packages: Record<string, { version: string; link?: true; dev?: true; devOptional?: true }>;
}
