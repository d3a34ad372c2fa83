import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { freePort } from "../../packages/conformance/free-port.ts";
import { aProcessWorld } from "../support/process-world.ts";
import { eventually, opened } from "../support/world.ts";

// The routers of docs/deploy.md before two processes, one of which stands still.

const page = readFileSync(new URL("../../docs/deploy.md", import.meta.url), "utf8");
const pieceOf = (language: string) => new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(page)![1]!;

interface Router {
  name: string;
  program: string;
  /** The page's configuration without TLS and without a user of its own, on this port. */
  configuration(port: number, folder: string): string;
  arguments(file: string): string[];
}
const ROUTERS: Router[] = [
  {
    name: "haproxy",
    program: "/usr/sbin/haproxy",
    configuration: (port) =>
      pieceOf("haproxy")
        .replace(/^ {2}(user|group) .*\n/gm, "")
        .replace(/bind .*/, `bind 127.0.0.1:${port}`),
    arguments: (file) => ["-db", "-f", file],
  },
  {
    name: "nginx",
    program: "/usr/sbin/nginx",
    configuration(port, folder) {
      const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
      const piece = pieceOf("nginx")
        .replace(/^ {2}ssl_.*\n/gm, "")
        .replace(/listen .*/, `listen 127.0.0.1:${port};`);
      const places = kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(" ");
      return `daemon off; pid ${folder}/pid; error_log stderr; events {} http { access_log off; ${places}\n${piece}}`;
    },
    arguments: (file) => ["-e", "stderr", "-c", file],
  },
];

const life = opened(() => aProcessWorld({ environment: { TRUST_PROXY: "1" } }));

/** Starts a router before the processes on these ports; resolves when it listens. */
async function started(router: Router, ports: string[]) {
  const folder = await mkdtemp(path.join(tmpdir(), "router-"));
  const file = path.join(folder, "configuration");
  const port = await freePort();
  const [one, other] = ports as [string, string];
  const text = router
    .configuration(port, folder)
    .replaceAll(":3000", `:${one}`)
    .replaceAll(":3001", `:${other}`);
  await writeFile(file, text);
  const child = spawn(router.program, router.arguments(file), { stdio: "ignore" });
  const ended = new Promise((resolve) => child.once("close", resolve));
  await eventually(
    () =>
      new Promise<boolean>((resolve) => {
        const probe = connect(port, "127.0.0.1", () => (probe.destroy(), resolve(true)));
        probe.on("error", () => resolve(false));
      }),
  );
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

describe.each(ROUTERS)("$name", (router) => {
  (existsSync(router.program) ? it : it.skip)(
    "has each call of the platform answered in time while one of two processes stands still, and none is carried out twice",
    async () => {
      const [still, other] = [await life.start(), await life.start()];
      const { url, close } = await started(router, [new URL(still.url!).port, new URL(other.url!).port]);
      try {
        life.control.partner({ partnerUrl: url });
        const [changed, gone] = (await life.install(2)) as [string, string];
        await life.become([changed, gone], 1);
        still.signal("SIGSTOP");
        const installs = await Promise.all(
          Array.from({ length: 12 }, () => life.control.install({ plan: "basic" })),
        );
        expect(new Set(installs.map(({ response }) => response.status))).toEqual(new Set([200]));
        expect((await life.control.changePlan(changed, "premium")).response.status).toBe(200);
        expect((await life.control.deprovision(gone)).response.status).toBe(204);
        still.signal("SIGCONT");
        const uuids = installs.map(({ addon }) => addon.id);
        await life.become(uuids, 1);
        const kinds = `SELECT type, count(*)::int FROM events WHERE uuid = ANY($1::uuid[]) AND type = 'tokens_issued' GROUP BY 1`;
        expect(await life.world.rows(kinds, [uuids])).toEqual([{ type: "tokens_issued", count: 12 }]);
        // What the process reads that stood still is no lost sale: its router has had an answer elsewhere.
        await eventually(() => expect(still.output()).toContain("the caller went away"));
        expect(still.output()).not.toContain("provision_lost");
        const state = `SELECT state, plan FROM resources WHERE uuid = ANY($1::uuid[]) ORDER BY state`;
        expect(await life.world.rows(state, [[changed, gone]])).toEqual([
          { state: "deprovisioned", plan: expect.any(String) },
          { state: "provisioned", plan: "premium" },
        ]);
      } finally {
        still.signal("SIGCONT");
        await close();
      }
    },
    600_000,
  );
});
