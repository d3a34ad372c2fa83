import { randomUUID } from "node:crypto";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { basic } from "../support/partner-calls.ts";
import { aProcessWorld, before } from "../support/process-world.ts";
import type { ServiceProcess } from "../support/process.ts";
import { eventually, opened } from "../support/world.ts";

const life = opened(() => aProcessWorld());
afterEach(() => life.killAll());

/** On SIGUSR2 a process prints how many bytes are alive after a garbage collection. */
const TELLS_ITS_HEAP = `
  import { setFlagsFromString } from "node:v8";
  import { runInNewContext } from "node:vm";
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc");
  process.on("SIGUSR2", () => { gc(); console.log("heap " + process.memoryUsage().heapUsed); });`;

/** The number of live bytes of a process. */
async function heapOf(service: ServiceProcess): Promise<number> {
  const said = () => [...service.output().matchAll(/^heap (\d+)$/gm)];
  const count = said().length;
  service.signal("SIGUSR2");
  return Number((await eventually(() => said()[count] ?? null))[1]);
}

const REQUESTS = 120;
/** Less than the smallest object of a request, a refresh or an exchange would add up to if it leaked. */
const MOST_BYTES_A_REQUEST = 2_500;

it("answered and refused requests leak no memory", async () => {
  const { addonId, addonPassword } = life.world.sandbox.settings;
  const web = await life.start("web", { ...before(TELLS_ITS_HEAP), WEB_JOBS: "off" });
  const right = basic(addonId, addonPassword);

  async function send(method: string, path: string, body?: object, authorization = right): Promise<number> {
    const headers = { authorization, "content-type": "application/json" };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await fetch(`${web.url}${path}`, init);
    await response.arrayBuffer();
    return response.status;
  }

  /** A resource's life in four requests, and four refused requests. */
  async function someRequests(): Promise<void> {
    const request = aProvisionRequest({ oauth_grant: null });
    const path = `/resources/${request.uuid}`;
    const answers = [
      await send("POST", "/resources", request),
      await send("POST", "/resources", request),
      await send("PUT", path, { plan: "premium" }),
      await send("DELETE", path),
      await send("DELETE", path),
      await send("POST", "/resources", { ...request, uuid: randomUUID(), plan: "none" }),
      await send("POST", "/resources", request, basic(addonId, "wrong")),
      await send("GET", `/${randomUUID()}`),
    ];
    expect(answers).toEqual([200, 200, 200, 204, 410, 422, 401, 404]);
  }

  const round = async () => {
    for (let sent = 0; sent < REQUESTS; sent += 40)
      await Promise.all(Array.from({ length: 5 }, someRequests));
  };
  // What is allocated once (statements, caches, compiled code) exists after the first round.
  await round();
  await round();
  const atFirst = await heapOf(web);
  await round();
  await round();
  await eventually(async () =>
    expect((await heapOf(web)) - atFirst).toBeLessThan(2 * REQUESTS * MOST_BYTES_A_REQUEST),
  );
}, 120_000);
