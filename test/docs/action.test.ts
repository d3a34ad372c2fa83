// action.yml, run as GitHub runs it: each step's own lines by bash, with the environment that its inputs make. The runner's
// own actions, and npm's download, are left to the workflow, which uses the action on each system.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { freePort } from "../../packages/conformance/free-port.ts";

interface Action {
  inputs: Record<string, { description: string; default: string }>;
  outputs: Record<string, { value: string }>;
  runs: { steps: { id?: string; env?: Record<string, string>; run?: string; uses?: string; if?: string }[] };
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string) => readFileSync(path.join(root, file), "utf8");
const action = parse(read("action.yml")) as Action;
const page = read("packages/conformance/README.md");
const partner = path.join(root, "packages/conformance/test/foreign-service.mjs");
const withBash = spawnSync("bash", ["--version"]).status === 0 ? describe : describe.skip;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "action-"));
  // As npm installs the archive, with the checker that the tests have compiled.
  const installed = path.join(folder, "temp/addon-checker/node_modules/addon-partner-conformance");
  mkdirSync(installed, { recursive: true });
  cpSync(path.join(root, "packages/conformance/bin.mjs"), path.join(installed, "bin.mjs"));
  symlinkSync(path.join(process.env["TEST_PROGRAMS"]!, "packages"), path.join(installed, "dist"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs the step with this id, as a workflow that gives these inputs does. */
async function runStep(id: string, inputs: Record<string, string>, job: Record<string, string> = {}) {
  const { env = {}, run = "" } = action.runs.steps.find((step) => step.id === id)!;
  const given = (name: string) => inputs[name] ?? action.inputs[name]!.default;
  const valueOf = (expression: string) =>
    expression.replaceAll(/\$\{\{ (.+?) \}\}/g, (_, what: string) => {
      const [, input, other] = /^inputs\.([\w-]+)(?: \|\| env\.(\w+))?$/.exec(what) ?? [];
      if (input) return given(input) || (other ? (job[other] ?? "") : "");
      return what === "github.action_path" ? root : "";
    });
  const [output, summary] = ["output", "summary"].map((name) => path.join(folder, name)) as [string, string];
  const child = spawn("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", run], {
    cwd: folder,
    env: {
      ...{ PATH: process.env["PATH"], RUNNER_TEMP: path.join(folder, "temp") },
      ...{ GITHUB_OUTPUT: output, GITHUB_STEP_SUMMARY: summary, ...job },
      ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, valueOf(value)])),
    },
  });
  child.stdin.end();
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await once(child, "close")) as [number];
  const lines = existsSync(output) ? readFileSync(output, "utf8").trim().split("\n") : [];
  const outputs = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
  return { code, said: (await said).join(""), outputs: outputs as Record<string, string> };
}

const command = `exec ${process.execPath} ${partner}`;
const plans = "--plan small --other-plan large --grace 1";

withBash("the action", () => {
  it("says that a service is fit, and leaves the reports in the folder that it names", async () => {
    const { code, said, outputs } = await runStep("check", {
      ...{ command, options: `${plans}\n--only AUTH-01 PROV-01`, reports: "of the run" },
    });
    expect({ code, said }).toMatchObject({ code: 0, said: expect.stringContaining("2 passed, 0 broken") });
    expect(outputs).toMatchObject({ verdict: "fit", summary: "2 rules" });
    expect(Object.keys(action.outputs).sort()).toEqual(Object.keys(outputs).sort());
    for (const report of ["junit", "html", "badge"])
      expect(readFileSync(path.join(folder, outputs[report]!), "utf8")).toMatch(/conformance/i);
    expect(readFileSync(path.join(folder, "summary"), "utf8")).toContain("fit** (2 rules)");
  });

  it("fails if a must-rule is broken, and the reports say which", async () => {
    const { code, outputs } = await runStep("check", { command, options: `${plans} --only AUTH-03` });
    expect({ code, outputs }).toMatchObject({ code: 1, outputs: { verdict: "unfit", summary: "1 broken" } });
    expect(readFileSync(path.join(folder, outputs["junit"]!), "utf8")).toMatch(/<failure[^]*AUTH-03|AUTH-03[^]*<failure/); // prettier-ignore
  });

  it.each([
    ["does not answer", { url: "http://127.0.0.1:9", id: "x", password: "p" }, 1],
    ["is named by a wrong option", { command, options: "--no-such-option" }, 2],
    ["is not named at all", {}, 2],
  ])("tells a service that %s from one that is unfit", async (_, given, exitCode) => {
    const platformPort = `--platform-port ${await freePort()}`;
    const inputs = "url" in given ? { ...given, options: platformPort } : given;
    const { code, outputs } = await runStep("check", inputs, { ADDON_ID: "of-the-job" });
    expect({ code, outputs }).toMatchObject({ code: exitCode, outputs: { verdict: "not_checked" } });
    const reports = ["junit", "html", "badge"].flatMap((report) => outputs[report] ?? []);
    expect(reports.filter((report) => !existsSync(path.join(folder, report)))).toEqual([]);
  });

  it("takes the words of an input as words, whatever a shell would make of them", async () => {
    const options = `${plans} --only AUTH-01 $(touch made)`;
    expect(await runStep("check", { command, options })).toMatchObject({ code: 2 });
    expect(existsSync(path.join(folder, "made"))).toBe(false);
  });

  it("says where the checker comes from if there is no release", async () => {
    const { code, said } = await runStep("install", {});
    expect({ code, said }).toMatchObject({ code: 2, said: expect.stringContaining('with "checker"') });
  });

  it("says what to do if the checker cannot be installed, and that nothing was checked", async () => {
    // npm takes an archive of this name for a file that is not there.
    const { code, said, outputs } = await runStep("install", { checker: "./none.tgz" });
    expect({ code, said }).toMatchObject({ code: 2, said: expect.stringContaining("from ./none.tgz. Use") });
    const verdict = action.outputs["verdict"]!.value;
    expect([outputs, verdict]).toEqual([{}, expect.stringContaining("|| 'not_checked' }}")]);
  });

  it("lets no input into the text of a script", () => {
    const scripts = action.runs.steps.flatMap(({ run }) => run ?? []);
    expect(scripts).toHaveLength(2);
    expect(scripts.filter((script) => script.includes("${{"))).toEqual([]);
  });

  it("is described in the README with its inputs and outputs", () => {
    const chapter = page.split("\n## In a workflow of GitHub\n")[1] ?? "";
    const all = [...Object.keys(action.inputs), ...Object.keys(action.outputs)];
    expect(all.filter((name) => !chapter.includes(`\`${name}\``))).toEqual([]);
    const [, example] = /```yaml\n([^]*?)```/.exec(chapter)!;
    const [step] = parse(example!) as [{ uses: string; with: Record<string, string> }];
    expect(example!.trim().split("\n")).toHaveLength(5);
    expect(step.uses).toMatch(/@v\d+\.\d+\.\d+$/);
    expect(Object.keys(step.with).filter((name) => !(name in action.inputs))).toEqual([]);
  });
});
