import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { DockerfileParser, type Instruction } from "dockerfile-ast";
import type { ModifiableInstruction } from "dockerfile-ast/lib/modifiableInstruction.js";

/** What is known of an image, and of each stage on the way to it. */
export interface Stage {
  /** Its files. */
  root: string;
  workdir: string;
  environment: Record<string, string>;
  user: string;
  command: string[];
  healthcheck: string[];
}

/**
 * Carries out the steps of the Dockerfile in a folder, on this machine: each stage has its files in a folder of its own,
 * and what it runs finds the programs of this machine. `given` are the build's arguments. Returns the stages by name; the
 * last one, the image, is named "". An instruction, or a form of it, that it does not know is an error.
 */
export function carryOut(
  project: string,
  folder: string,
  given: Record<string, string> = {},
): Record<string, Stage> {
  const isInContext = contextOf(project);
  const stages: Record<string, Stage> = {};
  let stage!: Stage;
  const at = (file: string) => path.join(stage.root, path.posix.resolve(stage.workdir, file));

  const steps: Record<string, (step: Instruction, words: string[]) => void> = {
    FROM(_step, [image, , name = ""]) {
      const base = stages[image!];
      const fresh = { workdir: "/", environment: {}, user: "root", command: [], healthcheck: [] };
      stage = { ...fresh, ...base, root: path.join(folder, name || "image") };
      stage.environment = { ...stage.environment };
      if (base) link(base.root, stage.root);
      else mkdirSync(stage.root);
      stages[name] = stage;
    },
    WORKDIR(_step, [to]) {
      stage.workdir = path.posix.resolve(stage.workdir, to!);
      mkdirSync(at("."), { recursive: true });
    },
    COPY(step, names) {
      const flags = (step as ModifiableInstruction).getFlags();
      const from = flags.find((flag) => flag.getName() === "from")?.getValue();
      const to = names.pop()!;
      for (const name of names) {
        const source = path.join(from ? stages[from]!.root : project, name);
        const isInto = to.endsWith("/") && !statSync(source).isDirectory();
        cpSync(source, isInto ? path.join(at(to), path.basename(name)) : at(to), {
          recursive: true,
          verbatimSymlinks: true,
          filter: (file) => !!from || isInContext(path.relative(project, file)),
        });
      }
    },
    ARG(_step, [pair]) {
      const [name, standard] = pair!.split("=");
      stage.environment[name!] = given[name!] ?? standard!.replaceAll('"', "");
    },
    ENV(_step, [pair]) {
      stage.environment[pair!.split("=")[0]!] = pair!.split("=")[1]!;
    },
    RUN(step) {
      const command = step.getArgumentsContent()!;
      const { PATH, HOME } = process.env;
      const how = { cwd: at("."), env: { PATH, HOME, ...stage.environment }, stdio: "pipe" } as const;
      if (command !== "npm ci") return void execFileSync("sh", ["-c", command], how);
      // It has what it needs, and what it would install is here.
      execFileSync("npm", ["ci", "--dry-run", "--offline"], how);
      link(path.join(project, "node_modules"), at("node_modules"));
      rmSync(at("node_modules/.cache"), { recursive: true, force: true });
    },
    USER: (_step, [user]) => void (stage.user = user!),
    CMD: (step) => void (stage.command = execForm(step)),
    HEALTHCHECK: (step) => void (stage.healthcheck = execForm(step)),
    LABEL: () => undefined,
    EXPOSE: () => undefined,
  };

  const text = readFileSync(path.join(project, "Dockerfile"), "utf8");
  for (const step of DockerfileParser.parse(text).getInstructions()) {
    const carry = steps[step.getKeyword()];
    if (!carry) throw new Error(`${step.getKeyword()} is not known here`);
    carry(step, step.getArgumentsContent()!.split(/\s+/));
  }
  return stages;
}

/** The same files under another name, not copied unless it is another disk: what npm changes it replaces. */
function link(from: string, to: string): void {
  const isOneDisk = statSync(from).dev === statSync(path.dirname(to)).dev;
  execFileSync("cp", [isOneDisk ? "-al" : "-a", from, to]);
}

/** The words of a command in JSON, the only form that gets signals itself. */
function execForm(step: Instruction): string[] {
  const [, json] = /(?:^|\bCMD\s+)(\[.*\])$/s.exec(step.getArgumentsContent()!) ?? [];
  if (!json) throw new Error(`${step.getKeyword()} is not in exec form`);
  return JSON.parse(json) as string[];
}

/** Whether .dockerignore lets a file into the context: the last pattern that matches it, or a folder of it, decides. */
function contextOf(project: string): (file: string) => boolean {
  const lines = readFileSync(path.join(project, ".dockerignore"), "utf8").split("\n");
  const patterns = lines.filter((line) => line !== "" && !line.startsWith("#"));
  return (file) => {
    const deciding = patterns.findLast((pattern) => {
      const name = pattern.replace(/^!/, "");
      return name === "*" || file === name || file.startsWith(`${name}/`);
    });
    return file === "" || (deciding?.startsWith("!") ?? true);
  };
}

/** What the files below a folder take on the disk, in MB (10^6 bytes); a file with two names counts once. */
export function megabytes(folder: string): number {
  const [kilobytes] = execFileSync("du", ["-sk", folder], { encoding: "utf8" }).split("\t");
  return (Number(kilobytes) * 1_024) / 1e6;
}
