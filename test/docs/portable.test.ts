// What Windows, or a disk that does not tell capital letters apart, could not run, read or store.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string) => readFileSync(path.join(root, file), "utf8");
const git = spawnSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
  ...{ cwd: root, encoding: "utf8", maxBuffer: 10_000_000 },
});
const files = git.status === 0 ? git.stdout.split("\0").filter(Boolean) : [];
// A copy without a repository has files of its own, too.
const inRepository = files.length > 0 ? describe : describe.skip;

/** What cmd.exe cannot run, or runs otherwise than a POSIX shell; each with a script that has it. */
const CANNOT: [what: string, inCode: RegExp, example: string][] = [
  ["a command that is neither node nor npm", /^(?!(node|npm) )|&& (?!(node|npm) )/, "exec node a.mjs"],
  ["a variable before a command", /^\w+=/, "SCREENSHOTS=1 npm run jest"],
  ["work in the background", /[^&]&(?!&)/, "node a.mjs & npm run b"],
  ["a sequence by semicolon", /;/, "node a.mjs ; node b.mjs"],
  ["a pipe, or a second try that keeps the shell", /\|/, "node a.mjs || node b.mjs"],
  ["a file for input or output", /[<>]/, "node a.mjs >/dev/null"],
  ["a text in single quotes", /'/, "node -e 'process.exit()'"],
  ["a value of the shell, its escape or its braces", /[$`\\%^!{}()*?~]/, "node a.mjs $HOME"],
  ["a value of the shell within a text", /"[^"]*[$`\\%][^"]*"/, 'node -e "$CODE"'],
];
/** What stands outside of texts in double quotes is for the shell; of those, a few signs are. */
const forShell = (script: string, within: RegExp) =>
  within.source.startsWith('"') ? script : script.replaceAll(/"[^"]*"/g, "TEXT");

describe("npm's scripts", () => {
  const manifests = ["package.json", "packages/conformance/package.json", "packages/sandbox/package.json"];
  const scripts = manifests.flatMap((file) =>
    Object.entries((JSON.parse(read(file)) as { scripts: Record<string, string> }).scripts).map(
      ([name, script]) => ({ name: `${file}: ${name}`, script }),
    ),
  );

  it.each(CANNOT)("have not what cmd.exe cannot run: %s", (_, pattern, example) => {
    const seenIn = (script: string) => pattern.test(forShell(script, pattern));
    expect(seenIn(example)).toBe(true);
    expect(scripts.filter(({ script }) => seenIn(script))).toEqual([]);
  });

  it("start programs that are there", () => {
    const named = scripts.flatMap(({ name, script }) => {
      const folder = path.dirname(name.split(":")[0]!);
      return [...script.matchAll(/(?:^|[ "])([\w./-]+\.(?:mjs|ts))(?=$|[ "])/g)].map(([, file]) =>
        path.join(root, folder, file!),
      );
    });
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((file) => !read(path.relative(root, file)))).toEqual([]);
  });
});

inRepository("the files", () => {
  it("have names that Windows can store", () => {
    const parts = files.flatMap((file) => file.split("/").map((part) => ({ file, part })));
    const reserved = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;
    const wrong = parts.filter(
      ({ part }) => /[<>:"\\|?*]|[. ]$/.test(part) || reserved.test(part) || /[^ -~]/.test(part),
    );
    expect(wrong).toEqual([]);
    // 260 characters are all that Windows has unless it is told otherwise; a checkout stands in a folder.
    expect(files.filter((file) => file.length > 180)).toEqual([]);
  });

  it("differ by more than capital letters", () => {
    const placesOf = (file: string) =>
      file.split("/").map((_, at, parts) => parts.slice(0, at + 1).join("/"));
    const places = [...new Set(files.flatMap(placesOf))];
    const small = places.map((place) => place.toLowerCase());
    expect(places.filter((_, at) => small.indexOf(small[at]!) !== at)).toEqual([]);
  });

  it("come with the line ends of the repository, whatever git is set to", () => {
    const { stdout } = spawnSync("git", ["check-attr", "eol", "text", "--", "dev/run.mjs", "README.md"], {
      ...{ cwd: root, encoding: "utf8" },
    });
    expect(stdout.match(/: eol: lf$/gm)).toHaveLength(2);
    const sources = files.filter((file) => /\.(mjs|js|ts|tsx|md|json|yml|yaml|py|sql)$/.test(file));
    expect(sources.filter((file) => read(file).includes("\r\n"))).toEqual([]);
  });
});

/** What is run on Windows itself: the archives, and what npm's scripts begin with. */
const portable = files.filter(
  (file) =>
    (/^packages\/\w+\/(?!test\/).*\.(ts|tsx|mjs)$/.test(file) && !file.includes("/examples/")) ||
    /^(dev|prisma|workshop)\/[\w-]+\.mjs$/.test(file),
);

/** What holds on POSIX alone, each with a line that has it. */
const POSIX: [what: string, pattern: RegExp, example: string][] = [
  ["a path from the root", /["'`]\/(dev|tmp|var|bin|usr|proc|etc)\//, 'readFileSync("/dev/stdin")'],
  ["the path of an address, which begins with a slash before the drive", /import\.meta\.url\)\.pathname/, "new URL(a, import.meta.url).pathname"], // prettier-ignore
  ["a module by its path", /import\((path\.|program\b|file\b)/, "await import(path.resolve(file))"],
  [
    "npm without a shell, which is npm.cmd there",
    /(spawn|execFile)(Sync)?\("(npm|npx)"/,
    'spawn("npm", words)',
  ],
  ["a shell by name", /(spawn|execFile)(Sync)?\("(ba)?sh"/, 'spawn("sh", ["-c", words])'],
];

inRepository("the programs that Windows runs", () => {
  it.each(POSIX)("have not %s", (_, pattern, example) => {
    expect(pattern.test(example)).toBe(true);
    expect(portable.length).toBeGreaterThan(100);
    expect(portable.filter((file) => pattern.test(read(file)))).toEqual([]);
  });
});
