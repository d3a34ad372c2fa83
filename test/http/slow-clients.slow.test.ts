import { connect, type Socket } from "node:net";
import { basic } from "../support/partner-calls.ts";
import { aWorld, opened } from "../support/world.ts";

const open: Socket[] = [];
afterAll(() => open.forEach((socket) => socket.destroy()));
const world = opened(() => aWorld());

function socketTo(): Socket {
  const socket = connect(Number(new URL(world.service.url!).port), "localhost");
  socket.on("error", () => undefined);
  open.push(socket);
  return socket;
}

/** Sends the head, then a byte at intervals; returns after how many seconds the service closed, and its answer. */
async function drip(beginning: string): Promise<{ seconds: number; said: string }> {
  const begun = performance.now();
  const socket = socketTo();
  let said = "";
  // A byte that comes after the service has closed resets the connection, before its answer may have been read.
  socket.on("data", (data: Buffer) => {
    said += data.toString();
    clearInterval(drops);
  });
  socket.write(beginning);
  const drops = setInterval(() => socket.write("x"), 500);
  await new Promise((resolve) => socket.once("close", resolve));
  clearInterval(drops);
  return { seconds: (performance.now() - begun) / 1000, said };
}

it("clients that send a byte at a time are cut off, and hundreds of idle ones delay no provision", async () => {
  const { addonId, addonPassword } = world.sandbox.settings;
  const head = "POST /resources HTTP/1.1\r\nHost: x\r\n";
  const login = `Authorization: ${basic(addonId, addonPassword)}\r\nContent-Type: application/json\r\n`;
  const dripping = Promise.all([
    drip(`${head}X-Slow: `),
    drip(`${head}${login}Content-Length: 1000\r\n\r\n{"uuid":"`),
  ]);
  for (let idle = 0; idle < 500; idle++) socketTo();
  for (let call = 0; call < 20; call++) {
    const { response } = await world.sandbox.control.install({ plan: "basic" });
    expect(response.status).toBe(200);
    expect(response.ms).toBeLessThan(10_000);
  }
  for (const { seconds, said } of await dripping) {
    expect(said).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(seconds).toBeLessThan(25);
  }
});
