import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Bench } from "../bench.ts";
import { median } from "../contest.ts";
import type { Line, Work } from "./work.ts";

const PROJECT = fileURLToPath(new URL("../../../", import.meta.url));
const COPIED = ["src", "dev", "packages", "prisma", "package.json", "tsconfig.json"];
const CHANGED = "src/your-service/index.ts";
const LONGEST_MS = 120_000;

/**
 * `npm run dev` in a copy of the project, whose data a first run has made, from its start to `Ready.`; and how long the
 * service takes to answer again after a change of its source. Both on all processors, as they are used.
 */
export const dev: Work = {
  name: "dev",
  async measure(bench) {
    const { options } = bench;
    const folder = mkdtempSync(path.join(tmpdir(), "bench-dev-"));
    // For the PostgreSQL of another user, if this one is root.
    chmodSync(folder, 0o711);
    const [starts, restarts]: number[][] = [[], []];
    try {
      for (const name of COPIED)
        cpSync(path.join(PROJECT, name), path.join(folder, name), { recursive: true });
      symlinkSync(path.join(PROJECT, "node_modules"), path.join(folder, "node_modules"));
      const ports = { PORT: await freePort(), SANDBOX_PORT: await freePort() };
      for (let run = 0; run <= (options.quick ? 1 : 3); run++) {
        const running = runDev(bench, folder, ports);
        try {
          const seconds = await running.until("\nReady.");
          if (run > 0) starts!.push(seconds);
          const file = path.join(folder, CHANGED);
          const changed = running.until("answers again");
          writeFileSync(file, `${readFileSync(file, "utf8")}\n// Change ${run}.\n`);
          restarts!.push(await changed);
        } finally {
          await running.stop();
        }
      }
    } finally {
      rmSync(folder, { recursive: true, maxRetries: 20, retryDelay: 500 });
    }
    return [
      line("npm run dev, the second time: from the start to Ready.", median(starts!), 3),
      line("npm run dev: from a change to the next answer", median(restarts!), 2),
    ];
  },
};

function runDev({ onAllProcessors }: Bench, folder: string, ports: Record<string, string>) {
  const { PATH, HOME } = process.env;
  const [command, ...words] = [...onAllProcessors, "npm", "run"];
  const child: ChildProcess = spawn(command!, [...words, "--silent", "dev"], {
    ...{ cwd: folder, env: { PATH, HOME, ...ports }, stdio: ["ignore", "pipe", "pipe"], detached: true },
  });
  const ended = once(child, "close");
  let printed = "";
  let look = () => {};
  for (const stream of [child.stdout!, child.stderr!])
    stream.on("data", (text: Buffer) => {
      printed += text.toString();
      look();
    });
  return {
    /** The seconds until `words` are printed, from now on. */
    async until(words: string): Promise<number> {
      const startedAt = performance.now();
      const from = printed.length;
      const seen = new Promise<void>((resolve, reject) => {
        look = () => printed.includes(words, from) && resolve();
        const fail = () => reject(new Error(`npm run dev did not print "${words}":\n${printed}`));
        setTimeout(fail, LONGEST_MS).unref();
        void ended.then(fail);
      });
      await seen;
      return (performance.now() - startedAt) / 1_000;
    },
    async stop(): Promise<void> {
      if (child.exitCode !== null || child.signalCode !== null) return;
      process.kill(-child.pid!, "SIGTERM");
      await ended;
    },
  };
}

async function freePort(): Promise<string> {
  const server = createServer().listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await once(server.close(), "close");
  return String(port);
}

function line(work: string, seconds: number, atMost: number): Line {
  return { work, unit: "s", subject: seconds, floor: null, ratio: null, target: { atMost } };
}
