import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import type { Environment } from "../../src/environment.ts";
import { program } from "../support/program.ts";

/** A command on a terminal of 80 columns and 50 lines. */
export interface Terminal {
  /** Types these characters once the terminal's output matches `when`. */
  type(characters: string, when: RegExp): Promise<void>;
  /** Closes the terminal once its output matches `when`. */
  hangUp(when: RegExp): Promise<void>;
  /**
   * Resolves when the command has ended: with its exit code, what was sent to the terminal, and what the screen shows.
   */
  ended(): Promise<{ code: number | null; sent: string; screen: string[] }>;
}

/** Runs the real command line on a pseudo-terminal. */
export function onTerminal(environment: Environment, words: readonly string[]): Terminal {
  return programOnTerminal([program("src/kit.ts"), ...words], { environment, folder: tmpdir() });
}

/** Runs a program or script of Node on a pseudo-terminal, which `script` provides. */
export function programOnTerminal(
  words: readonly string[],
  { environment, folder }: { environment: Environment; folder: string },
): Terminal {
  const command = [process.execPath, ...words].map(quoted).join(" ");
  const child = spawn("script", ["-qec", `stty cols 80 rows 50; exec ${command}`, "/dev/null"], {
    env: { PATH: process.env["PATH"], TERM: "xterm", SHELL: "/bin/sh", ...environment },
    ...{ cwd: folder, stdio: "pipe" },
  });
  let sent = "";
  child.stdin.on("error", () => undefined);
  child.stderr.on("data", (data: Buffer) => (sent += data.toString()));
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    sent += text;
    child.emit("shown");
  });
  const closed = once(child, "close") as Promise<[number | null]>;
  void closed.then(() => child.emit("shown"));
  async function untilShown(when: RegExp): Promise<void> {
    while (!when.test(sent)) {
      if (child.exitCode !== null) throw new Error(`It ended and never showed ${when}:\n${sent}`);
      await once(child, "shown");
    }
  }
  return {
    async type(characters, when) {
      await untilShown(when);
      child.stdin.write(characters);
    },
    async hangUp(when) {
      await untilShown(when);
      child.kill("SIGKILL");
    },
    async ended() {
      const [code] = await closed;
      return { code, sent, screen: screenAfter(sent) };
    },
  };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A control sequence, or a letter. */
// eslint-disable-next-line no-control-regex
const SENT = /\u001b(\[[\d;?]*[A-Za-z]|[78])|[^]/gu;

/**
 * What a terminal shows after this output: lines, with the cursor movements that a progress bar needs. Colours are left
 * out; any other control sequence throws.
 */
function screenAfter(sent: string): string[] {
  const lines: string[][] = [[]];
  let [row, column] = [0, 0];
  let kept = [0, 0];
  const write = (letter: string) => ((lines[row] ??= [])[column++] = letter);
  const moves: Record<string, () => void> = {
    "\n": () => void (lines[(row += 1)] ??= []),
    "\r": () => void (column = 0),
    "\u001b[K": () => void lines[row]!.splice(column),
    "\u001b[0K": () => void lines[row]!.splice(column),
    "\u001b[2K": () => void (lines[row] = []),
    "\u001b[0J": () => void (lines[row]!.splice(column), lines.splice(row + 1)),
    "\u001b7": () => void (kept = [row, column]),
    "\u001b8": () => void ([row, column] = kept as [number, number]),
  };
  for (const [part] of sent.matchAll(SENT)) {
    const place = /^.\[(\d+)G$/.exec(part);
    if (/^.\[[\d;]*m$/.test(part)) continue;
    if (place) column = Number(place[1]) - 1;
    else if (moves[part]) moves[part]();
    else if (part.startsWith("\u001b"))
      throw new Error(`Not known to this terminal: ${JSON.stringify(part)}`);
    else write(part);
  }
  return lines
    .map((line) => Array.from(line, (letter) => letter ?? " ").join(""))
    .filter((line) => line !== "");
}
