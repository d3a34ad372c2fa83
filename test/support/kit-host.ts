import { EventEmitter } from "node:events";
import { tmpdir } from "node:os";
import { PassThrough, Writable } from "node:stream";
import type { Environment } from "../../src/environment.ts";
import type { Host } from "../../src/operator/commands/host.ts";
import { teapotConfig, teapotParts } from "./sellers.ts";

/** A seller of teapots, whatever `src/your-service` sells. */
export const teapotSeller = { parts: teapotParts, config: teapotConfig };

/** A process that a command believes it runs in. Its signals are events: `host.emit("SIGINT", "SIGINT")`. */
export type FakeHost = Host & { stdin: PassThrough };

export interface Output {
  env: Environment;
  /** Called with each text that is written. */
  onText(stream: "stdout" | "stderr", text: string): void;
  /** Properties of a terminal, which both outputs have then, and the input. */
  terminal?: { isTTY: true; columns: number; rows: number };
}

export function aHost({ env, onText, terminal }: Output): FakeHost {
  const output = (name: "stdout" | "stderr") =>
    Object.assign(
      new Writable({
        decodeStrings: false,
        write(text: string | Buffer, _encoding, done) {
          onText(name, text.toString());
          done();
        },
      }),
      terminal,
    );
  const stdin = Object.assign(new PassThrough(), terminal, {
    isRaw: false,
    setRawMode(isRaw: boolean) {
      stdin.isRaw = isRaw;
      return stdin;
    },
  });
  const ended = (): never => {
    throw new Error("A command that ends its process at once belongs into a process of its own: startKit.");
  };
  const host = {
    env,
    stdin,
    stdout: output("stdout"),
    stderr: output("stderr"),
    // Not the project's folder, where a developer may keep a .env.
    cwd: tmpdir,
    pid: process.pid,
    kill: ended,
    exit: ended,
  };
  return Object.assign(new EventEmitter(), host) as unknown as FakeHost;
}
