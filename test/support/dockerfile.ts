import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
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
 * and what it runs finds the programs and the npm cache of this machine. `given` are the build's arguments. Returns the
 * stages by name; the last one, the image, is named "". An instruction, or a form of it, that it does not know is an
 * error.
 */
export function carryOut(
  project: string,
  folder: string,
  given: Record<string, string> = {},
): Record<string, Stage> {
  const context = contextOf(project);
  const stages: Record<string, Stage> = {};
  let stage!: Stage;
  const at = (file: string) => path.join(stage.root, path.posix.resolve(stage.workdir, file));

  const steps: Record<string, (step: Instruction, words: string[]) => void> = {
    FROM(_step, [image, , name = ""]) {
      const base = stages[image!];
      stage = {
        workdir: "/",
        environment: {},
        user: "root",
        command: [],
        healthcheck: [],
        ...base,
        root: "",
      };
      stage.environment = { ...stage.environment };
      stage.root = path.join(folder, name || "image");
      // Files of a base are shared, not copied: what npm changes it replaces.
      if (base) execFileSync("cp", ["-Rl", base.root, stage.root]);
      else mkdirSync(stage.root);
      stages[name] = stage;
    },
    WORKDIR(_step, [to]) {
      stage.workdir = path.posix.resolve(stage.workdir, to!);
      mkdirSync(at("."), { recursive: true });
    },
    COPY(step, names) {
      const from = flagsOf(step)["from"];
      const to = names.pop()!;
      for (const name of names) {
        const source = from ? path.join(stages[from]!.root, name) : path.join(project, name);
        const isFolder = statSync(source).isDirectory();
        cpSync(source, to.endsWith("/") && !isFolder ? path.join(at(to), path.basename(name)) : at(to), {
          recursive: true,
          verbatimSymlinks: true,
          filter: (file) => from !== undefined || context(path.relative(project, file)),
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
      const { PATH, HOME } = process.env;
      execFileSync("sh", ["-c", step.getArgumentsContent()!], {
        cwd: at("."),
        env: { PATH, HOME, ...stage.environment },
        stdio: ["ignore", "pipe", "pipe"],
      });
    },
    USER: (_step, [user]) => void (stage.user = user!),
    CMD: (step) => void (stage.command = execForm(step)),
    HEALTHCHECK: (step) => void (stage.healthcheck = execForm(step)),
    LABEL: () => undefined,
    EXPOSE: () => undefined,
  };

  for (const step of DockerfileParser.parse(
    readFileSync(path.join(project, "Dockerfile"), "utf8"),
  ).getInstructions()) {
    const carry = steps[step.getKeyword()];
    if (!carry) throw new Error(`${step.getKeyword()} is not known here`);
    carry(step, step.getArgumentsContent()!.split(/\s+/));
  }
  return stages;
}

const flagsOf = (step: Instruction): Record<string, string | null> =>
  Object.fromEntries(
    (step as ModifiableInstruction).getFlags().map((flag) => [flag.getName(), flag.getValue()]),
  );

/** The words of a command in JSON, the only form that gets signals itself. */
function execForm(step: Instruction): string[] {
  const [, json] = /(?:^|\bCMD\s+)(\[.*\])$/s.exec(step.getArgumentsContent()!) ?? [];
  if (!json) throw new Error(`${step.getKeyword()} is not in exec form`);
  return JSON.parse(json) as string[];
}

/** Whether .dockerignore lets a file into the context: the last pattern that matches it, or a folder of it, decides. */
function contextOf(project: string): (file: string) => boolean {
  const patterns = readFileSync(path.join(project, ".dockerignore"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  const known = new Set(readdirSync(project));
  for (const pattern of patterns)
    if (pattern !== "*" && !known.has(pattern.replace(/^!/, "").split("/")[0]!))
      throw new Error(`.dockerignore names ${pattern}, which does not exist`);
  return (file) => {
    const deciding = patterns.findLast((pattern) => {
      const name = pattern.replace(/^!/, "");
      return name === "*" || file === name || file.startsWith(`${name}/`);
    });
    return file === "" || (deciding?.startsWith("!") ?? true);
  };
}

/** What the files below a folder take, in MB (10^6 bytes) of the disk; a file with two names counts once. */
export function megabytes(folder: string): number {
  const seen = new Map<number, number>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const { ino, blocks } = statSync(path.join(entry.parentPath, entry.name));
    seen.set(ino, blocks * 512);
  }
  return [...seen.values()].reduce((sum, bytes) => sum + bytes, 0) / 1e6;
}
