import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Span } from "./history.ts";

const dist = fileURLToPath(new URL("../../dist", import.meta.url));
/** A process that ends at this many starts in a row stays down. */
const MOST_STARTS = 3;

export type Settings = Record<string, string>;

/** One process of the service, which is restarted whenever the storm ends it. */
export interface Member {
  name: string;
  /** The port on which it listens; null for a worker, and while it is down. */
  port: number | null;
  isFrozen: boolean;
  /** True from the moment it is killed or asked to stop until it has been restarted. */
  isEnding: boolean;
  child: ChildProcess;
}

/** The unexpected end of a process. */
export interface UnaskedEnd {
  name: string;
  code: number | string | null;
}

/** A process that was killed, and when (`Date.now()`). */
export interface Kill {
  name: string;
  atMs: number;
}

/** A process that was frozen (SIGSTOP), with start and end. */
export type Freeze = Span & { name: string };

/** The web and worker processes of one service, as they run in production: from `dist/`, on one database. */
export interface Fleet {
  members: readonly Member[];
  ports(): number[];
  /** Kills a process and restarts it. */
  kill(member: Member): Promise<void>;
  /**
   * Stops a process in order and restarts it, with other settings if given. Answers its exit code and the time that the
   * stop took.
   */
  restart(member: Member, change?: Settings): Promise<{ code: number | string | null; ms: number }>;
  kills: readonly Kill[];
  freezes: readonly Freeze[];
  freeze(member: Member): void;
  thaw(member: Member): void;
  /** Writes the output of a command beside the service into the file of the service's output. */
  hear(child: ChildProcess): void;
  /** The unexpected ends of processes. */
  unaskedEnds: readonly UnaskedEnd[];
  /** The file with the output of all processes. */
  outputFile: string;
  stop(): Promise<{ code: number | string | null; ms: number }[]>;
}

export async function startFleet(needs: {
  /** `web-` or `worker-`, and a number. */
  names: readonly string[];
  /** The environment with which the process of this name is started. */
  settings: (name: string) => Settings;
  folder: string;
  /** The folder of the programs with which the process of this name is started; `dist/` by default. */
  programs?: (name: string) => string;
}): Promise<Fleet> {
  const { programs = () => dist } = needs;
  const outputFile = path.join(needs.folder, "service.log");
  const output = createWriteStream(outputFile);
  const unaskedEnds: UnaskedEnd[] = [];
  const kills: Kill[] = [];
  const freezes: Freeze[] = [];
  const asked = new WeakSet<ChildProcess>();
  const extra = new Map<string, Settings>();

  // Children are killed when this process exits.
  const running = new Set<ChildProcess>();
  process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

  async function launch(name: string): Promise<Omit<Member, "name">> {
    for (let starts = 1; ; starts++) {
      const kind = name.split("-")[0]!;
      const child = spawn(process.execPath, [path.join(programs(name), `${kind}.js`)], {
        env: { PATH: process.env["PATH"], PORT: "0", ...needs.settings(name), ...extra.get(name) },
      });
      running.add(child);
      child.on("exit", (code, signal) => {
        running.delete(child);
        if (!asked.has(child)) unaskedEnds.push({ name, code: code ?? signal });
      });
      hear(child);
      const port = await listening(child);
      if (port !== "ended") return { child, port, isFrozen: false, isEnding: false };
      if (starts === MOST_STARTS) return { child, port: null, isFrozen: false, isEnding: false };
      await sleep(500);
    }
  }

  function hear(child: ChildProcess): void {
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (text: Buffer) => void (output.writableEnded || output.write(text)));
  }

  function thaw(member: Member): void {
    if (!member.isFrozen) return;
    member.isFrozen = false;
    member.child.kill("SIGCONT");
    const freeze = freezes.findLast(({ name }) => name === member.name);
    if (freeze) freeze.toMs = Date.now();
  }

  const members: Member[] = await Promise.all(
    needs.names.map(async (name) => ({ name, ...(await launch(name)) })),
  );

  async function end(member: Member, signal: NodeJS.Signals) {
    const { child } = member;
    const startedAt = performance.now();
    asked.add(child);
    member.port = null;
    member.isEnding = true;
    const ended = child.exitCode === null && child.signalCode === null ? once(child, "exit") : null;
    thaw(member);
    if (signal === "SIGKILL") kills.push({ name: member.name, atMs: Date.now() });
    child.kill(signal);
    const [code, by] = ended ? ((await ended) as [number | null, string | null]) : [child.exitCode, null];
    return { code: code ?? by, ms: Math.round(performance.now() - startedAt) };
  }

  async function replace(member: Member, signal: NodeJS.Signals) {
    const ended = await end(member, signal);
    Object.assign(member, await launch(member.name));
    return ended;
  }

  /**
   * Runs the work on one member in sequence: a process that is killed while it is being restarted must have one
   * successor, not two.
   */
  const turns = new WeakMap<Member, Promise<unknown>>();
  function inTurn<Result>(member: Member, work: () => Promise<Result>): Promise<Result> {
    const mine = (turns.get(member) ?? Promise.resolve()).then(work);
    turns.set(
      member,
      mine.catch(() => undefined),
    );
    return mine;
  }

  return {
    members,
    unaskedEnds,
    kills,
    freezes,
    outputFile,
    hear,
    ports: () => members.flatMap(({ port }) => (port === null ? [] : [port])),
    kill: (member) => inTurn(member, () => replace(member, "SIGKILL").then(() => undefined)),
    restart: (member, change) =>
      inTurn(member, () => {
        if (change) extra.set(member.name, change);
        return replace(member, "SIGTERM");
      }),
    freeze(member) {
      member.isFrozen = true;
      freezes.push({ name: member.name, fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY });
      member.child.kill("SIGSTOP");
    },
    thaw,
    async stop() {
      const ends = await Promise.all(members.map((member) => end(member, "SIGTERM")));
      await new Promise((resolve) => output.end(resolve));
      return ends;
    },
  };
}

/** Resolves with the port once the process listens (null: a worker that is ready), or `ended`. */
function listening(child: ChildProcess): Promise<number | null | "ended"> {
  return new Promise((resolve) => {
    let said = "";
    child.on("exit", () => resolve("ended"));
    child.stdout!.on("data", (text: Buffer) => {
      if (said === "done") return;
      said += text.toString();
      const port = /"url":"http:\/\/localhost:(\d+)"/.exec(said)?.[1];
      if (!port && !said.includes('"msg":"Ready"')) return;
      said = "done";
      resolve(port ? Number(port) : null);
    });
  });
}
