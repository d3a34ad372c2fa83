// What a page names exists: files, links, commands, settings, alarms. A fork's own README and pages in a sub-folder of
// docs/ are not read.

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { settings } from "../../src/config.ts";
import { ALARMS } from "../../src/metrics/metrics.ts";
import { createProgram } from "../../src/operator/commands/program.ts";
import { excerptsIn, isIn } from "../support/excerpts.ts";
import { kitPages } from "../support/kit-pages.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string) => readFileSync(path.join(root, file), "utf8");
const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };

/** The kit's settings, a fork's, and those of the tools and the examples. */
const names = [
  ...Object.values(settings).map(({ name }) => name as string),
  ...[...read(".env.example").matchAll(/^(?:# )?([A-Z0-9_]+)=/gm)].map(([, name]) => name!),
  ...["NO_COLOR", "NODE_ENV", "TEST_DATABASE_URL", "BENCH_DATABASE_URL", "CHROMIUM_PATH", "SOURCE_COMMIT"],
  ...["SANDBOX_HOST", "SANDBOX_PORT", "SANDBOX_STATE", "SANDBOX_TOKEN", "SANDBOX_RUN_PLAN", "SANDBOX_URL"],
  ...["SANDBOX_CUSTOMER_API", "CUSTOMERS_CLI", "HEROKU_API_KEY"],
  ...["OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_TRACES_SAMPLER"],
  ...["OTEL_TRACES_SAMPLER_ARG", "OTEL_BSP_MAX_QUEUE_SIZE"],
  ...["ADDON_MANIFEST", "PARTNER_URL", "MIGRATION_DATABASE"],
  ...["TEAPOT_URL", "TEAPOT_TOKEN", "DRAWER_URL", "PRODUCT_DATABASE_URL", "PRODUCT_PASSWORD_KEY"],
  ...["QUEUE_API_URL_US", "QUEUE_API_URL_EU"],
];

/** What is written between backticks, and the lines of code blocks. */
const code = (file: string) =>
  [...read(file).matchAll(/`([^`\n]+)`|^((?:npm|node) .*)$/gm)].map(([, inline, line]) => (inline ?? line)!);

/** The names that a reader's links lead to, made of the headings as GitHub makes them. */
const anchors = (file: string) =>
  [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );

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

describe.each(kitPages)("%s", (file) => {
  it("names files that exist", () => {
    const files = code(file).filter((text) =>
      /^(\.github|src|test|packages|workshop|docs|dev|prisma|examples|ops)\/[\w./-]*$|^[\w.-]+\.(md|json)$/.test(
        text,
      ),
    );
    // A fork's own files there are its own matter.
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

  it("has one title, and skips no level of headings", () => {
    const outsideCode = read(file).replace(/^```[^]*?^```$/gm, "");
    const levels = [...outsideCode.matchAll(/^(#+) /gm)].map(([, marks]) => marks!.length);
    expect(levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1)).toEqual([]);
    expect(levels.filter((level) => level === 1)).toEqual([1]);
  });

  it("names commands that exist, those of kit with options that they take", async () => {
    const called = code(file).flatMap((text) => [
      ...text.matchAll(/npm (?:run (?:--silent )?([\w:-]+)|(test|start))/g),
    ]);
    expect(called.map(([, run, direct]) => run ?? direct!).filter((name) => !scripts[name])).toEqual([]);
    const program = await createProgram(() => () => Promise.resolve());
    const ofKit = code(file).flatMap(kitWords);
    expect(ofKit.map((words) => unknownOf(words, program)).filter((each) => each !== null)).toEqual([]);
  });

  it("names settings that exist", () => {
    const words = code(file).filter((text) => /^[A-Z][A-Z]+(_[A-Z]+)+$/.test(text));
    expect(words.filter((word) => !names.includes(word))).toEqual([]);
  });

  it("has excerpts that match the files they name", () => {
    const ours = excerptsIn(read(file)).filter((each) => !/^(src|test)\/your-service\//.test(each.file));
    expect(ours.filter((excerpt) => !isIn(read(excerpt.file), excerpt)).map(({ file }) => file)).toEqual([]);
  });
});

it("the pieces of docs/deploy.md start what the Procfile starts, with settings that exist", () => {
  const page = read("docs/deploy.md");
  const found = (pattern: RegExp) => [...page.matchAll(pattern)].map(([, each]) => each!);
  const commands = [...found(/^ExecStart=\/usr\/bin\/(.+)$/gm), ...found(/command: \[(.+?)\]/g)];
  expect(commands.length).toBeGreaterThan(3);
  for (const command of commands) expect(read("Procfile")).toContain(`${command.replaceAll(", ", " ")}\n`);
  const set = [...found(/^Environment=(\w+)=/gm), ...found(/\{ name: ([A-Z]\w+)/g)];
  expect(set.filter((name) => !names.includes(name))).toEqual([]);
});

it("docs/operate.md says for every alarm what to do, and names no other", () => {
  const told = [...read("docs/operate.md").matchAll(/^\| `(\w+)`/gm)].map(([, alarm]) => alarm!);
  expect([...ALARMS].sort()).toEqual([...told].sort());
});

it("docs/decisions.md gives a reason for every runtime dependency of the kit", () => {
  const { dependencies, name } = JSON.parse(read("package.json")) as { dependencies: object; name: string };
  // A fork's packages are its own choice.
  const ours = name === "addon-partner-starter-kit" ? Object.keys(dependencies) : [];
  expect(ours.filter((each) => !read("docs/decisions.md").includes(`**${each}**`))).toEqual([]);
});
