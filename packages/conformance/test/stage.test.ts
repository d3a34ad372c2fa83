import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { aPartner, type Partner } from "../../sandbox/test/partner.ts";
import { createInventory } from "../stage/inventory.ts";
import { openStage, type Stage } from "../stage/stage.ts";
import { jsonReply } from "../stage/wire.ts";
import { exampleSettings } from "./judged.ts";

describe("the simulated platform of npm run conformance", () => {
  let partner: Partner;
  let stage: Stage;
  beforeEach(async () => {
    partner = await aPartner();
    stage = await openStage({ ...exampleSettings, url: partner.url });
  });
  afterEach(async () => {
    await stage.close();
    await partner.close();
  });

  const callbackOf = (nth: number) =>
    (JSON.parse(partner.requests[nth]!.body) as { callback_url: string }).callback_url;

  it("names in a provision the address at the platform that the service was given", async () => {
    const { uuid } = await stage.install();
    const address = callbackOf(0);
    expect(address).toBe(`${stage.platformUrl}/addons/${uuid}`);
    await fetch(address, { headers: { accept: "application/json" } });
    expect(stage.books.calls.map(({ method, path }) => `${method} ${path}`)).toEqual([`GET /addons/${uuid}`]);
  });

  it("uses the public address when the service reaches it at another one than it listens on", async () => {
    const platformUrl = "http://judge.example.com:4000";
    const elsewhere = await openStage({ ...exampleSettings, url: partner.url, platformUrl });
    const { uuid } = await elsewhere.install();
    expect(callbackOf(0)).toBe(`${platformUrl}/addons/${uuid}`);
    expect(elsewhere.platformUrl).toBe(platformUrl);
    await elsewhere.close();
  });

  it.each([
    ["GET", "/sandbox/ledger?reveal=1"],
    ["GET", "/Sandbox/state"],
    ["GET", "//sandbox/state"],
    ["GET", "/addons/../sandbox/state"],
    ["GET", "/addons/%2e%2e/sandbox/state"],
    ["POST", "/sandbox/reset"],
    ["GET", "/sandbox/assets/pages.css"],
    ["GET", "/marketplace/ledger"],
    ["GET", "/"],
  ])("reveals nothing of the sandbox behind it: %s %s", async (method, path) => {
    expect(await statusOf(method, path)).toBe(404);
  });

  it("is found at an IPv6 address too, and keeps connections open for longer than clients pause", async () => {
    const sixth = await openStage({ ...exampleSettings, url: partner.url, platformHost: "::1" });
    expect(sixth.platformUrl).toMatch(/^http:\/\/\[::1\]:\d+$/);
    const { headers } = await fetch(`${sixth.platformUrl}/addons`);
    expect(headers.get("keep-alive")).toBe("timeout=75");
    await sixth.close();
  });

  it("ascribes a call to the resource whose path it has, and else to the one whose token it carries", async () => {
    const [one, two] = [await stage.install(), await stage.install()];
    stage.books.tokens.set("SVCK-the-token-of-the-second", {
      ...{ uuid: two.uuid, kind: "access", real: "x", endsAt: null },
    });
    const headers = { authorization: "Bearer SVCK-the-token-of-the-second" };
    const app = randomUUID();
    for (const path of [`/addons/${one.uuid}`, `/apps/${app}`])
      await fetch(stage.platformUrl + path, { headers });
    expect(stage.callsOf(one).map(({ path }) => path)).toEqual([`/addons/${one.uuid}`]);
    expect(stage.callsOf(two).map(({ path }) => path)).toEqual([`/apps/${app}`]);
  });

  it("deprovisions at the end also what the service has too many calls for at first", async () => {
    const { watch, takeDown } = createInventory("/resources", 1_000);
    const provision = { method: "POST", path: "/resources", headers: {}, body: '{"uuid": "one"}' };
    await watch(provision, () => Promise.resolve(jsonReply(200, {})));
    const answers = [429, 204].map((status) => jsonReply(status, {}));
    expect(await takeDown(() => Promise.resolve(answers.shift()!), 5_000)).toEqual([]);
  });

  it("records a call of the service at its arrival, however slowly its body arrives", async () => {
    const { hostname, port } = new URL(stage.platformUrl);
    const headers = { "content-length": "4" };
    const slow = request({ hostname, port, method: "POST", path: "/oauth/token", headers });
    const answered = new Promise((resolve, reject) => slow.on("response", resolve).on("error", reject));
    slow.write("a=");
    // What came after it is answered: so it has come.
    await once(slow, "socket");
    await sleep(300);
    expect((await fetch(`${stage.platformUrl}/addons`)).status).toBe(401);
    const laterAt = performance.now();
    slow.end("bc");
    await answered;
    const [ofTokens, ...more] = stage.books.calls.filter(({ path }) => path === "/oauth/token");
    expect(more).toEqual([]);
    expect(ofTokens!.at).toBeLessThan(laterAt);
  });

  /** The path goes out as it is written here. */
  function statusOf(method: string, path: string): Promise<number | undefined> {
    const { hostname, port } = new URL(stage.platformUrl);
    return new Promise((resolve, reject) => {
      const headers = { accept: "text/html" };
      const asked = request({ hostname, port, method, path, headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      asked.on("error", reject).end();
    });
  }
});
