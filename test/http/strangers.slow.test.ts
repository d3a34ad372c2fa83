import { existsSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { pathToFileURL } from "node:url";
import { ALL } from "../support/forged.ts";
import type { ServiceProcess } from "../support/process.ts";
import { aProcessWorld, before } from "../support/process-world.ts";
import { program } from "../support/program.ts";
import { eventually, opened } from "../support/world.ts";

// What one client without credentials can do to a process that no router hides: the real service, with real limits.

const life = opened(() => aProcessWorld());
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await life.killAll();
  // Else the next process would miss them.
  await life.world.forged.nothingIsLeftOf("processes");
});

/** Clients that send these bytes, and read what is answered. */
function clients({ url }: ServiceProcess, count: number, bytes: string): void {
  const port = Number(new URL(url!).port);
  for (let client = 0; client < count; client++) {
    const socket = connect(port, "127.0.0.1").resume();
    socket.on("error", () => undefined).write(bytes);
    sockets.push(socket);
  }
}

const isClosed = ({ closed }: Socket) => closed;

/** The lines of its log that an operator must see. */
const above = ({ output }: ServiceProcess) =>
  output()
    .split("\n")
    .filter((line) => /"level":"(warn|error|fatal)"/.test(line))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** The answer to a provision; its grant is exchanged, too. */
async function installed(): Promise<number | null> {
  const { addon, response } = await life.control.install({ plan: "basic" });
  await life.world.quiet([addon.id]);
  return response.status;
}

const peakMb = ({ pid }: ServiceProcess) =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1_000;
const onLinux = existsSync("/proc/self/status") ? it : it.skip;

onLinux.each([
  ["16 × 512 kB", 16, "/x", 512_000],
  ["8 × 1 MB", 8, "/readyz", 1_000_000],
])(
  "pipelines of %s take little memory, prevent no provision, and are logged once, with their address",
  async (_, count, path, bytes) => {
    const web = await life.start();
    expect(await installed()).toBe(200);
    const before = peakMb(web);
    const request = `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
    clients(web, count, request.repeat(bytes / request.length));
    for (let call = 0; call < 20; call++) expect((await fetch(`${web.url}/healthz`)).status).toBe(200);
    await eventually(() => sockets.every(isClosed));
    expect(await installed()).toBe(200);
    expect(peakMb(web) - before).toBeLessThan(100);
    // A machine under load blocks a process by itself; test/http/pipelines.test.ts counts who comes in between.
    const lines = above(web).filter(({ req, alarm }) => !req && alarm !== "event_loop_blocked");
    const msg = expect.stringContaining("more than 32 on one connection");
    expect(lines).toEqual([expect.objectContaining({ level: "warn", address: "127.0.0.1", msg })]);
  },
);

onLinux.each([
  [300, 330],
  [64, 70],
])(
  "with %i file descriptors, %i idle clients prevent no provision, and raise an alarm",
  async (mostFiles, count) => {
    const web = await life.start("web", {}, mostFiles);
    clients(web, count, "G");
    await eventually(() => expect(web.output()).toContain('"alarm":"too_many_connections"'));
    await eventually(() => expect(sockets.filter(isClosed).length).toBeGreaterThan(count - mostFiles / 2));
    for (let call = 0; call < 5; call++) expect(await installed()).toBe(200);
    const msg = expect.stringMatching(/^All \d+ connections .* the oldest idle one was closed$/);
    expect(above(web)).toEqual([expect.objectContaining({ alarm: "too_many_connections", msg })]);
  },
);

/** From a SIGUSR2 to the next one a process keeps every file descriptor that it can get. */
const TAKES_DESCRIPTORS = `
  // No grant is exchanged before it takes them.
  Object.assign((await import(${JSON.stringify(pathToFileURL(program("src/pace.ts")).href)})).PACE, { exchangeAfterMs: 10_000 });
  import { closeSync, openSync } from "node:fs";
  const files = [];
  let taking;
  const take = () => { try { for (;;) files.push(openSync("/dev/null")); } catch {} };
  process.on("SIGUSR2", () => {
    clearInterval(taking);
    if (files.length > 0) return files.splice(0).forEach((file) => closeSync(file));
    take();
    taking = setInterval(take, 1);
  });`;

onLinux(
  "a process whose file descriptors are used up raises an alarm, and then does what it could not",
  async () => {
    // Exchanges of grants that earlier processes left would leave open connections to the token endpoint.
    await life.world.forged.tokensAreDueIn(ALL, null);
    const web = await life.start("web", before(TAKES_DESCRIPTORS), 100);
    const uuids = await life.install(3);
    web.signal("SIGUSR2");
    const words = "this process has no free file descriptors (";
    await eventually(() =>
      expect(above(web)).toContainEqual(
        expect.objectContaining({ alarm: "descriptors_exhausted", reason: expect.stringContaining(words) }),
      ),
    );
    // The exchanges of the grants did not reach the platform.
    await eventually(async () => {
      const rows = await life.world.rows<{ error: string }>(
        `SELECT last_error AS error FROM credentials WHERE attempts > 0 AND uuid = ANY($1::uuid[])`,
        [uuids],
      );
      expect(rows).toHaveLength(3);
      for (const { error } of rows)
        expect(error).toMatch(/^connection_failed: .* could not be sent: this process has no free file/);
    });
    web.signal("SIGUSR2");
    await life.become(uuids, 1);
  },
);
