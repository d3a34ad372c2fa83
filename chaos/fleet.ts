import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const dist = fileURLToPath(new URL("../dist", import.meta.url));

export type Settings = Record<string, string>;

/** One process of the service, started anew whenever it was made to end. */
export interface Member {
  name: string;
  /** Where it listens; null for a worker, and while it is down. */
  port: number | null;
  isFrozen: boolean;
  child: ChildProcess;
}

/** How a process ended that nobody had asked to. */
export interface UnaskedEnd {
  name: string;
  code: number | string | null;
}

/** The web and worker processes of one service, as they run in production: from `dist/`, on one database. */
export interface Fleet {
  members: readonly Member[];
  ports(): number[];
  /** Kills it at once and starts it again. */
  kill(member: Member): Promise<void>;
  /** Asks it to stop, waits, and starts it again, with other settings if given. Answers its exit code and the time. */
  restart(member: Member, change?: Settings): Promise<{ code: number | string | null; ms: number }>;
  /** When processes were killed. */
  killedAtMs: readonly number[];
  freeze(member: Member): void;
  thaw(member: Member): void;
  /** Ends nobody asked for. */
  unaskedEnds: readonly UnaskedEnd[];
  /** The file with everything they said. */
  outputFile: string;
  stop(): Promise<{ code: number | string | null; ms: number }[]>;
}

export async function startFleet(needs: {
  webs: number;
  workers: number;
  settings: () => Settings;
  folder: string;
}): Promise<Fleet> {
  const outputFile = path.join(needs.folder, "service.log");
  const output = createWriteStream(outputFile);
  const unaskedEnds: UnaskedEnd[] = [];
  const killedAtMs: number[] = [];
  const asked = new WeakSet<ChildProcess>();
  const extra = new Map<string, Settings>();

  // Nothing of it outlives us, whatever ends us.
  const running = new Set<ChildProcess>();
  process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

  async function launch(name: string): Promise<Pick<Member, "child" | "port" | "isFrozen">> {
    for (;;) {
      const kind = name.split("-")[0]!;
      const child = spawn(process.execPath, [path.join(dist, `${kind}.js`)], {
        env: { PATH: process.env["PATH"], PORT: "0", ...needs.settings(), ...extra.get(name) },
      });
      running.add(child);
      child.on("exit", (code, signal) => {
        running.delete(child);
        if (!asked.has(child)) unaskedEnds.push({ name, code: code ?? signal });
      });
      const port = await listening(child, output);
      if (port !== "ended") return { child, port, isFrozen: false };
    }
  }

  const names = [
    ...Array.from({ length: needs.webs }, (_, index) => `web-${index + 1}`),
    ...Array.from({ length: needs.workers }, (_, index) => `worker-${index + 1}`),
  ];
  const members: Member[] = await Promise.all(names.map(async (name) => ({ name, ...(await launch(name)) })));

  async function end(member: Member, signal: NodeJS.Signals) {
    const { child } = member;
    const startedAt = performance.now();
    asked.add(child);
    member.port = null;
    const ended = child.exitCode === null && child.signalCode === null ? once(child, "exit") : null;
    if (member.isFrozen) child.kill("SIGCONT");
    if (signal === "SIGKILL") killedAtMs.push(Date.now());
    child.kill(signal);
    const [code, by] = ended ? ((await ended) as [number | null, string | null]) : [child.exitCode, null];
    return { code: code ?? by, ms: Math.round(performance.now() - startedAt) };
  }

  async function replace(member: Member, signal: NodeJS.Signals) {
    const ended = await end(member, signal);
    Object.assign(member, await launch(member.name));
    return ended;
  }

  /** A process that is killed while an operator restarts it has one successor, not two. */
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
    killedAtMs,
    outputFile,
    ports: () => members.flatMap(({ port }) => (port === null ? [] : [port])),
    kill: (member) => inTurn(member, () => replace(member, "SIGKILL").then(() => undefined)),
    restart: (member, change) =>
      inTurn(member, () => {
        if (change) extra.set(member.name, change);
        return replace(member, "SIGTERM");
      }),
    freeze(member) {
      member.isFrozen = true;
      member.child.kill("SIGSTOP");
    },
    thaw(member) {
      member.isFrozen = false;
      member.child.kill("SIGCONT");
    },
    async stop() {
      const ends = await Promise.all(members.map((member) => end(member, "SIGTERM")));
      await new Promise((resolve) => output.end(resolve));
      return ends;
    },
  };
}

/** Resolves with the port once the process listens (null: a worker that is ready), or `ended`. */
function listening(child: ChildProcess, output: WriteStream): Promise<number | null | "ended"> {
  return new Promise((resolve) => {
    let said = "";
    child.on("exit", () => resolve("ended"));
    child.stderr!.on("data", (text: Buffer) => output.write(text));
    child.stdout!.on("data", (text: Buffer) => {
      output.write(text);
      if (said === "done") return;
      said += text.toString();
      const port = /"url":"http:\/\/localhost:(\d+)"/.exec(said)?.[1];
      if (!port && !said.includes('"msg":"Ready"')) return;
      said = "done";
      resolve(port ? Number(port) : null);
    });
  });
}
