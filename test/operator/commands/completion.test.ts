import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { placesOf } from "../../../src/operator/commands/completion.ts";
import { createProgram } from "../../../src/operator/commands/program.ts";
import { kit, kitJson } from "../../support/kit.ts";

// What the shells themselves offer after these words. The last word is the one that is being typed.

const ask = {
  bash: (script: string, words: readonly string[]) => `source ${script}
    COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}) COMP_CWORD=${words.length - 1}
    _kit; printf '%s\\n' "\${COMPREPLY[@]}"`,
  // The completion of zsh runs in its line editor alone: its two builtins print here what they are given.
  zsh: (script: string, words: readonly string[]) => `compdef() { :; }
    compset() { PREFIX=\${PREFIX#*=}; }
    compadd() { shift; for each in "$@"; do [[ $each == $PREFIX* ]] && print -r -- $each; done; :; }
    _files() { print -rl -- $PREFIX*(N); }
    _describe() { for each in "\${(@P)@[-1]}"; do [[ $each == $PREFIX* ]] && print -r -- \${each%%:*}; done; :; }
    source ${script}
    words=(${words.map((word) => `'${word}'`).join(" ")}); CURRENT=${words.length}; PREFIX='${words.at(-1)}'; _kit`,
  fish: (script: string, words: readonly string[]) => `source ${script}
    complete -C '${words.join(" ")}' | string split -f 1 \\t; true`,
};
type Shell = keyof typeof ask;
const flags: Record<Shell, string[]> = { bash: ["--norc"], zsh: ["-f"], fish: ["--no-config"] };
const installed = (Object.keys(ask) as Shell[]).filter((shell) => !spawnSync(shell, ["--version"]).error);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "kit-completion-"));
  await writeFile(path.join(folder, "app.json"), "{}");
  for (const shell of installed)
    await writeFile(path.join(folder, `of.${shell}`), (await kit({}, ["completion", shell])).stdout);
});
afterAll(() => rm(folder, { recursive: true }));

async function offered(shell: Shell, words: string): Promise<string[]> {
  const script = ask[shell](`./of.${shell}`, words.split(" "));
  const { stdout, stderr } = await promisify(execFile)(shell, [...flags[shell], "-c", script], {
    cwd: folder,
  });
  expect(stderr).toBe("");
  return stdout.split("\n").filter(Boolean).sort();
}

const cases: [words: string, offered: string[]][] = [
  ["kit res", ["resources", "resume"]],
  ["kit resources ", ["erase", "export", "import", "list", "show"]],
  ["kit --json resources l", ["list"]],
  ["kit resources list --st", ["--state"]],
  ["kit resources list --state pro", ["provisioned", "provisioning"]],
  ["kit resources list --state failed --s", ["--search", "--sort", "--state", "--suspended"]],
  ["kit resources list --search doctor --af", ["--after"]],
  ["kit reconcile --fix plan", ["plan_differs"]],
  ["kit api P", ["PATCH", "POST", "PUT"]],
  ["kit completion ", ["bash", "fish", "zsh"]],
  ["kit manifest check app", ["app.json"]],
  ["kit steps give-up --y", ["--yes"]],
  ["kit --ver", ["--version"]],
];

// One that is not installed is left out.
describe.each(installed)("%s completes", (shell) => {
  it.each(cases)("%s", async (words, wanted) => expect(await offered(shell, words)).toEqual(wanted));

  it("the value after an equals sign", async () => {
    const words = shell === "bash" ? "kit resources list --state = fai" : "kit resources list --state=fai";
    expect(await offered(shell, words)).toEqual([expect.stringMatching(/failed$/)]);
  });

  it("every command, and each of its options", async () => {
    const program = await createProgram(() => () => Promise.resolve());
    for (const { at, options } of placesOf(program).filter(({ at }) => at !== "")) {
      const words = at.split(" ");
      expect(await offered(shell, `kit ${at}`)).toContain(words.at(-1));
      const names = options.map(({ name }) => name);
      expect(await offered(shell, `kit ${at} --`)).toEqual(names.sort());
    }
  });
});

it("another shell is a mistake, and with --json the script is a member", async () => {
  expect(await kitJson({}, ["completion", "tcsh"])).toMatchObject({ code: 2, data: { id: "used_wrongly" } });
  const { data } = await kitJson({}, ["completion", "fish"]);
  expect(data).toEqual({ shell: "fish", script: expect.stringContaining("complete -c kit") });
});
