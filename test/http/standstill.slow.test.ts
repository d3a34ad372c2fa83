import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { basic } from "../support/partner-calls.ts";
import type { ServiceProcess } from "../support/process.ts";
import { aProcessWorld } from "../support/process-world.ts";
import { eventually, opened } from "../support/world.ts";

// A process that did not run for a while (SIGSTOP, SIGCONT), and what it then reads: requests that the kernel took for it.

const life = opened(() => aProcessWorld({ environment: { TRUST_PROXY: "1" } }));
let web: ServiceProcess;
beforeAll(async () => {
  web = await life.start();
});

type Asked = [method: string, path: string, body?: object, headers?: Record<string, string>];

/** Sends a request on a connection of its own, or on `socket`. */
function send([method, path, body, headers = {}]: Asked, socket?: Socket): Socket {
  const { addonId, addonPassword } = life.world.sandbox.settings;
  const { hostname, port } = new URL(web.url!);
  const bytes = body === undefined ? "" : JSON.stringify(body);
  const all = {
    ...{ host: hostname, authorization: basic(addonId, addonPassword) },
    ...(bytes && { "content-length": String(Buffer.byteLength(bytes)) }),
    ...headers,
  };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket ??= connect(Number(port), hostname).on("error", () => undefined);
  socket.write(`${method} ${path} HTTP/1.1\r\n${head.join("")}\r\n${bytes}`);
  return socket;
}

async function statusOf(socket: Socket): Promise<number> {
  const [chunk] = (await once(socket, "data")) as [Buffer];
  return Number(/^HTTP\/1\.1 (\d+)/.exec(chunk.toString("latin1"))?.[1]);
}

/** How a caller that waits no longer ends its connection. */
const LEAVES = {
  "closes its connection": (socket: Socket) => void socket.end(),
  "resets its connection": (socket: Socket) => void socket.resetAndDestroy(),
};

/** Lets the process stand still while `work` is done, and some seconds more. */
async function whileItStands<Result>(work: () => Promise<Result>): Promise<Result> {
  web.signal("SIGSTOP");
  try {
    const result = await work();
    await sleep(3_000);
    return result;
  } finally {
    web.signal("SIGCONT");
  }
}

const stateOf = async (uuid: string) =>
  (
    await life.world.rows<{ state: string; plan: string }>(
      `SELECT state, plan FROM resources WHERE uuid = $1`,
      [uuid],
    )
  )[0];

describe.each(Object.entries(LEAVES))("a caller that %s while the process stands still", (_, leave) => {
  it("has no provision, plan change or deprovision carried out; one that is there has", async () => {
    const [changed, kept] = (await life.install(2)) as [string, string];
    await life.become([changed, kept], 1);
    const open = send(["POST", "/resources", aProvisionRequest()]);
    expect(await statusOf(open)).toBe(200);
    const [onNew, onOpen, waits] = [aProvisionRequest(), aProvisionRequest(), aProvisionRequest()];
    const waiting = await whileItStands(async () => {
      const gone = [
        send(["POST", "/resources", onNew]),
        send(["POST", "/resources", onOpen], open),
        send(["PUT", `/resources/${changed}`, { plan: "premium" }]),
        send(["DELETE", `/resources/${kept}`]),
      ];
      await sleep(500);
      gone.forEach(leave);
      return send(["POST", "/resources", waits]);
    });
    expect(await statusOf(waiting)).toBe(200);
    await sleep(500);
    expect(await stateOf(waits.uuid)).toMatchObject({ state: "provisioned" });
    expect(await stateOf(onNew.uuid)).toBeUndefined();
    expect(await stateOf(onOpen.uuid)).toBeUndefined();
    expect(await stateOf(changed)).toMatchObject({ state: "provisioned", plan: "basic" });
    expect(await stateOf(kept)).toMatchObject({ state: "provisioned" });
    const lost = `SELECT uuid FROM lost_sales WHERE uuid = ANY($1::uuid[])`;
    await eventually(async () =>
      expect(await life.world.rows(lost, [[onNew.uuid, onOpen.uuid]])).toHaveLength(2),
    );
  });
});

it("a request that its router had long ago is answered 408 after a standstill, and at no other time", async () => {
  // Another process, which has not stood still yet.
  web = await life.start();
  const long = { "x-request-start": String(Date.now() - 30_000) };
  const [one, other, recent] = [aProvisionRequest(), aProvisionRequest(), aProvisionRequest()];
  expect(await statusOf(send(["POST", "/resources", one, long]))).toBe(200);
  const sockets = await whileItStands(async () => [
    send(["POST", "/resources", other, long]),
    send(["POST", "/resources", recent, { "x-request-start": `t=${Date.now() / 1_000}` }]),
  ]);
  expect(await Promise.all(sockets.map(statusOf))).toEqual([408, 200]);
  expect(await stateOf(other.uuid)).toBeUndefined();
});
