import { connect } from "node:net";
import type { Database } from "../../src/database/database.ts";
import { aGate } from "../support/a-vendor.ts";
import { aWorld, eventually, opened } from "../support/world.ts";

// GET /healthz says whether the process is alive; GET /readyz whether it can answer provisions.

let isDatabaseAway = false;
/** What reading the client secrets meets before they are read; null: nothing. */
let secretsMeet: (() => Promise<void>) | null = null;
let migrationsKnown: Promise<void> = Promise.resolve();
const wrapDatabase = (database: Database): Database => ({
  ...database,
  ping: () => (isDatabaseAway ? Promise.reject(new Error("away")) : database.ping()),
  async query(statement, values) {
    if (statement.name === "read_client_secret") await secretsMeet?.();
    if (statement.name === "finished_migrations") await migrationsKnown;
    return database.query(statement, values);
  },
});
const world = opened(() => aWorld({ parts: { wrapDatabase } }));

const ask = async (path: string, url = world.service.url) => {
  const response = await fetch(`${url}${path}`);
  return `${response.status} ${((await response.json()) as { status: string }).status}`;
};

describe("GET /healthz and GET /readyz", () => {
  it("report a service that can answer provisions as ready", async () => {
    expect([await ask("/healthz"), await ask("/readyz")]).toEqual(["200 alive", "200 ready"]);
  });

  it("report a service without its database as alive, and not ready until it is back", async () => {
    isDatabaseAway = true;
    expect([await ask("/healthz"), await ask("/readyz")]).toEqual(["200 alive", "503 unavailable"]);
    isDatabaseAway = false;
    expect(await ask("/readyz")).toBe("200 ready");
  });

  it("report a service whose client secret is rejected as ready, because provisions work", async () => {
    const { control } = world.sandbox;
    const { secret } = control.resetClientSecret();
    await control.install();
    await eventually(async () => expect(await ask("/readyz")).toBe("200 degraded"));
    await world.restart({ environment: { CLIENT_SECRET: secret } });
    await eventually(async () => expect(await ask("/readyz")).toBe("200 ready"));
  });

  it("report a service that cannot read its client secrets as degraded, because provisions work", async () => {
    await world.restart();
    secretsMeet = () => Promise.reject(new Error("permission denied for table"));
    // The service keeps what it has read for five seconds.
    await eventually(async () => expect(await ask("/readyz")).toBe("200 degraded"));
    const { response } = await world.sandbox.control.install();
    expect(response.status).toBeLessThan(300);
    secretsMeet = null;
    expect(await ask("/readyz")).toBe("200 ready");
  });

  it("report a service that has not yet checked its database and keys as alive and not ready", async () => {
    const gate = aGate();
    migrationsKnown = gate.opened;
    // The address of the starting service is in its log; it may be that of the service before it.
    const addresses = () => [...world.logged().matchAll(/"url":"(http:[^"]+)"/g)].map(([, url]) => url!);
    const before = addresses().length;
    const restarting = world.restart();
    const url = await eventually(async () => {
      const last = addresses().slice(before).at(-1);
      if (!last) return null;
      expect(await ask("/healthz", last)).toBe("200 alive");
      expect(await ask("/readyz", last)).toBe("503 unavailable");
      return last;
    });
    gate.open();
    await restarting;
    expect(await ask("/readyz", url)).toBe("200 ready");
  });

  it("while stopping report it as alive, refuse provisions, and close each connection after its answer", async () => {
    const answers = await Promise.all(
      ["/healthz", "/readyz"].map((path) => halfAsked(world.service.url!, path)),
    );
    const stopped = world.service.stop();
    for (const { complete } of answers) complete();
    const [health, ready] = await Promise.all(answers.map(({ answer }) => answer));
    expect(health).toMatch(/}HTTP\/1\.1 200 [^]*connection: close[^]*alive/i);
    expect(ready).toMatch(/}HTTP\/1\.1 503 [^]*connection: close[^]*unavailable/i);
    await stopped;
    await world.restart();
  });
});

/** Sends a request, and another one without its end: so the connection is not idle after the first answer. */
function halfAsked(url: string, path: string): Promise<{ complete(): void; answer: Promise<string> }> {
  const socket = connect(Number(new URL(url).port), "localhost");
  let text = "";
  socket.on("data", (data: Buffer) => (text += data.toString()));
  const answer = new Promise<string>((resolve) => socket.on("close", () => resolve(text)));
  socket.write(`GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET ${path} HTTP/1.1\r\nHost: x\r\n`);
  return eventually(() =>
    text.includes("alive") ? { complete: () => void socket.write("\r\n"), answer } : null,
  );
}
