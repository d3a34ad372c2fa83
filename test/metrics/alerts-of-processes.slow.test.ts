import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe } from "@jest/globals";
import { startDatabaseProxy, type DatabaseProxy } from "../support/database-proxy.ts";
import { aProcessWorld, before, type ProcessWorld } from "../support/process-world.ts";
import { programsSelling } from "../support/program.ts";
import { PASSWORD } from "./operator.ts";
import { aPrometheus, hasPrometheus, theyRing, type Prometheus } from "./prometheus.ts";

/** Leaves the process some time for a scrape. */
const PAUSE_MS = 100;

let life: ProcessWorld;
let proxy: DatabaseProxy;
let router: Server;
let prometheus: Prometheus;
/** Where the two web processes listen. */
let urls: string[] = [];
let installing: Promise<void> = Promise.resolve();
let isRepaired = false;

(hasPrometheus ? describe : describe.skip)("two web processes behind a router", () => {
  beforeAll(async () => {
    life = await aProcessWorld({
      programs: await programsSelling("test/support/kilns/your-service"),
      environment: { METRICS_PASSWORD: PASSWORD },
    });
    proxy = await startDatabaseProxy(life.world.environment["DATABASE_URL"]!);
    await startBoth();
    let turn = 0;
    router = createServer((asked, answer) => {
      const url = urls[(turn += 1) % urls.length]!;
      const { method, headers } = asked;
      const sent = request(url + asked.url!, { method, headers }, (answered) => {
        answer.writeHead(answered.statusCode!, answered.headers);
        answered.pipe(answer);
      });
      asked.pipe(sent.on("error", () => answer.destroy()));
    }).listen(0, "127.0.0.1");
    await once(router, "listening");
    const routed = `http://127.0.0.1:${(router.address() as AddressInfo).port}`;
    life.control.partner({ partnerUrl: routed });
    prometheus = await aPrometheus(routed, 2);
  });
  afterAll(async () => {
    isRepaired = true;
    await installing;
    await prometheus.close();
    router.close();
    await life.killAll();
    await proxy.close();
    await life.world.close();
  });

  theyRing("one without its database", ["AddonDatabaseAway"], () => prometheus, {
    cause: async () => proxy.mode("refuse"),
    repair: async () => proxy.mode("ok"),
  });

  theyRing("one whose clock is wrong", ["AddonClocksApart"], () => prometheus, {
    cause: () => startBoth(before(`const now = Date.now; Date.now = () => now() + 600_000;`)),
    repair: () => startBoth(),
  });

  theyRing("a function that computes", ["AddonEventLoopBlocked"], () => prometheus, {
    async cause() {
      urls = urls.slice(0, 1);
      installing = (async () => {
        while (!isRepaired) {
          await life.control.install({ plan: "clay", force: true, options: { bricks: "many" } });
          await sleep(PAUSE_MS);
        }
      })();
    },
    async repair() {
      isRepaired = true;
      await installing;
    },
  });

  theyRing("both killed", ["AddonDown"], () => prometheus, {
    cause: () => life.killAll(),
    repair: () => startBoth(),
  });
});

/** Two processes instead of those that ran; the second, with `change`, behind the proxy. */
async function startBoth(change: Record<string, string> = {}): Promise<void> {
  await life.killAll();
  const both = await Promise.all([
    life.start("web"),
    life.start("web", { DATABASE_URL: proxy.url, ...change }),
  ]);
  urls = both.map(({ url }) => url!);
}
