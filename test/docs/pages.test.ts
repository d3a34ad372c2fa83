import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import path from "node:path";
import { describe, expect, it } from "@jest/globals";
import type { Command } from "commander";
import { assumed } from "../../packages/conformance/sections.ts";
import { settings } from "../../src/config.ts";
import { offer as drawers } from "../../examples/postgres-product/your-service/plans.ts";
import { alarmWords } from "../support/alarm-words.ts";
import { excerptsIn, isIn } from "../support/excerpts.ts";
import { kitPages } from "../support/kit-pages.ts";
import { createProgram } from "../../src/operator/commands/program.ts";
import { wrongCitations } from "../support/cited-tests.ts";
import { limitsInCode } from "../support/limits-in-code.ts";
import { offer } from "../support/teapots/plans.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string) => readFileSync(path.join(root, file), "utf8");
const documents = kitPages;
const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
/** The names that a reader's links lead to, made of the headings as GitHub makes them. */
const anchors = (file: string) =>
  [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );
const EXAMPLE = "examples/postgres-product/your-service";
const names: string[] = Object.values(settings).map(({ name }) => name);

/** What is written between backticks, and the lines of code blocks. */
const code = (file: string) =>
  [...read(file).matchAll(/`([^`\n]+)`|^((?:npm|node) .*)$/gm)].map(([, inline, line]) => (inline ?? line)!);

/** The words behind `kit` in a piece of code, as the page writes them. */
const kitWords = (text: string) =>
  [...text.matchAll(/(?:^kit|kit --|dist\/kit\.js) ([a-z][^|<>;&#]*)/g)].map(([, words]) =>
    words!.trim().split(/ +/),
  );

/** The first unknown command or option in these words; null if there is none. */
function unknownOf(words: readonly string[], program: Command): string | null {
  let command = program;
  for (const word of words) {
    const inner = command.commands.find((each) => each.name() === word);
    if (!inner) break;
    command = inner;
  }
  if (command === program || command.commands.length > 0) return words.join(" ");
  const known = [...command.options, ...program.options].flatMap(({ long, short }) => [long, short]);
  return words.find((word) => /^--./.test(word) && ![...known, "--help"].includes(word)) ?? null;
}

describe.each(documents)("%s", (file) => {
  it("names files that exist", () => {
    const files = code(file).filter((text) =>
      /^(src|test|sandbox|docs|dev|prisma|examples|ops)\/[\w./-]*$|^[\w.-]+\.(md|json)$/.test(text),
    );
    // A fork's own files there are its own matter; another test checks the excerpts.
    const kept = files.filter((name) => !/^(src|test|docs)\/your-service\//.test(name));
    expect(kept.filter((name) => !existsSync(path.join(root, name)))).toEqual([]);
  });

  it("links to files and headings that exist", () => {
    const links = [...read(file).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)];
    const lost = links.filter(([, to, heading]) => {
      const target = to ? path.join(path.dirname(file), to) : file;
      if (!existsSync(path.join(root, target))) return true;
      return heading !== undefined && !anchors(target).includes(heading);
    });
    expect(lost.map(([link]) => link)).toEqual([]);
  });

  it("names commands that exist", () => {
    const called = code(file).flatMap((text) => [
      ...text.matchAll(/npm (?:run (?:--silent )?([\w:-]+)|(test|start|ci))/g),
    ]);
    const missing = called
      .map(([, run, direct]) => run ?? direct!)
      .filter((name) => name !== "ci" && !scripts[name]);
    expect(missing).toEqual([]);
  });

  it("names commands of kit that exist, with options that they take", () => {
    const program = createProgram(() => () => Promise.resolve());
    const unknown = code(file)
      .flatMap(kitWords)
      .map((words) => unknownOf(words, program));
    expect(unknown.filter((each) => each !== null)).toEqual([]);
  });

  it("names settings that exist", () => {
    const words = code(file).filter((text) => /^[A-Z][A-Z]+(_[A-Z]+)+$/.test(text));
    // This page is about names in the code, which test/docs/limits.test.ts checks.
    const limits = file === "docs/limits.md" ? limitsInCode().map(({ name }) => name) : [];
    const others = [
      "NO_COLOR",
      "NODE_ENV",
      "TEST_DATABASE_URL",
      "BENCH_DATABASE_URL",
      "SANDBOX_HOST",
      "SANDBOX_PORT",
      "SANDBOX_STATE",
      "SANDBOX_TOKEN",
      "PARTNER_URL",
      "CHROMIUM_PATH",
      "MIGRATION_DATABASE",
      "SOURCE_COMMIT",
      "SANDBOX_RUN_PLAN",
      ...[...offer.configVars, ...drawers.configVars],
      ...[...read(`${EXAMPLE}/settings.ts`).matchAll(/"([A-Z_]+)"/g)].map(([, name]) => name!),
      "ADDON_MANIFEST",
      ...limits,
    ];
    expect(words.filter((word) => !names.includes(word) && !others.includes(word))).toEqual([]);
  });
});

describe.each(documents)("the excerpts of %s", (file) => {
  const ours = excerptsIn(read(file)).filter((excerpt) => !/^(src|test)\/your-service\//.test(excerpt.file));
  it("match the files they name", () => {
    expect(ours.filter((excerpt) => !isIn(read(excerpt.file), excerpt)).map(({ file }) => file)).toEqual([]);
  });
});

describe("docs/operate.md", () => {
  it("says for every alarm in the code what to do, and names no other", () => {
    const told = [...read("docs/operate.md").matchAll(/^\| `(\w+)`/gm)].map(([, alarm]) => alarm!);
    expect(alarmWords()).toEqual([...told].sort());
  });
});

it.each(["docs/rotate.md", "docs/scale.md"])("%s cites tests that exist", (file) => {
  const cited = [...read(file).matchAll(/^Shown by (.+)\.$/gm)].map(([, each]) => each!);
  expect(cited).not.toEqual([]);
  expect(cited.flatMap(wrongCitations)).toEqual([]);
});

describe("docs/assumed.md", () => {
  const headings = [...read("docs/assumed.md").matchAll(/^## (\d+)\. (.+)$/gm)];

  it("has every section that a comment refers to", () => {
    // A comment may break its line within a reference.
    const REFERENCE = /assumed(?:\.md)?,\s+(?:\*\s+|\/\/\s+)?sections? (\d+)(?: and (\d+))?/gi;
    const folders = ["dev", "examples", "packages", "prisma", "workshop"];
    const texts = [...folders, "src", "test"]
      .flatMap((folder) =>
        readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" }).map(
          (file) => `${folder}/${file}`,
        ),
      )
      .filter((file) => /\.(tsx?|sql|prisma)$/.test(file) && !file.startsWith("src/database/client/"))
      .map(read);
    const referred = texts
      .flatMap((text) => [...text.matchAll(REFERENCE)].flatMap(([, ...numbers]) => numbers))
      .filter((number) => number !== undefined);
    const numbers = headings.map(([, number]) => number!);
    expect([...new Set(referred)].filter((number) => !numbers.includes(number))).toEqual([]);
  });

  it("has the section titles that the conformance checker uses", () => {
    for (const number of [1, 2, 3, 4, 6] as const)
      expect(headings.map(([, n, title]) => `docs/assumed.md, section ${n} (${title})`)).toContain(
        assumed(number),
      );
  });
});

describe("docs/decisions.md", () => {
  it("gives a reason for every runtime dependency", () => {
    const { dependencies } = JSON.parse(read("package.json")) as { dependencies: Record<string, string> };
    const text = read("docs/decisions.md");
    // Packages that only your service uses are your choice.
    const kits = Object.keys(dependencies).filter((name) => !isYoursAlone(name));
    expect(kits.filter((name) => !text.includes(`**${name}**`))).toEqual([]);
  });
});

function isYoursAlone(name: string): boolean {
  const files = readdirSync(path.join(root, "src"), { recursive: true, encoding: "utf8" });
  const users = files.filter((file) => /\.tsx?$/.test(file) && importsPackage(read(`src/${file}`), name));
  return users.length > 0 && users.every((file) => file.startsWith("your-service/"));
}

function importsPackage(source: string, name: string): boolean {
  return source.includes(` "${name}"`) || source.includes(` "${name}/`) || source.includes(`("${name}`);
}
