import { createHmac, hash, timingSafeEqual } from "node:crypto";
import express, { type Request, type Router } from "express";
import { Refusal } from "../errors.ts";
import { billOf } from "./billing.ts";
import type { OurKit } from "./metrics.ts";
import type { YourSettings } from "./settings.ts";

interface Leaked {
  queue: string;
}
interface Moved extends Leaked {
  url: string;
}

/** Texts of any lengths, compared in the same time. */
const isEqual = (one: string, other: string) =>
  timingSafeEqual(hash("sha256", one, "buffer"), hash("sha256", other, "buffer"));

/**
 * What our billing reads, `GET /billing/2026-11`; and what the broker tells us, signed with the token that we share: `POST
 * /broker/moved` and `POST /broker/leaked`, when it has found a key in public.
 */
export function mountRoutes(router: Router, kit: OurKit, settings: YourSettings): void {
  router.get("/billing/:month", async (request, response) => {
    if (!isEqual(request.get("Authorization") ?? "", `Bearer ${settings.billingToken.reveal()}`))
      throw new Refusal("This is for our billing alone.", { id: "unauthorized", status: 401 });
    const { month } = request.params;
    if (!/^20\d\d-(0[1-9]|1[0-2])$/.test(month))
      throw new Refusal("Name a month, as 2026-11.", { id: "bad_month", status: 400 });
    response.json(await billOf(kit, month));
  });

  router.use("/broker", express.raw({ type: "*/*", limit: "16kb" }));

  router.post("/broker/moved", async (request, response) => {
    const { queue, url } = await told<Moved>(request);
    await kit.config.set(queue, { PIGEON_URL: url });
    kit.count("pigeon_moves_total");
    kit.log.info({ uuid: queue }, "The broker has moved a queue");
    response.status(204).end();
  });

  router.post("/broker/leaked", async (request, response) => {
    const { queue } = await told<Leaked>(request);
    // The key that leaked may be the new one: the broker tells us again until the rotation before is over.
    if ((await kit.rotate(queue)) === "overlap")
      throw new Refusal("The key before is not retired yet.", { id: "overlap", status: 503 });
    response.status(204).end();
  });

  async function told<What extends Leaked>(request: Request): Promise<What> {
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const signature = createHmac("sha256", settings.queueApiToken.reveal()).update(body).digest();
    const given = Buffer.from(request.get("Broker-Signature") ?? "", "hex");
    if (given.length !== signature.length || !timingSafeEqual(given, signature))
      throw new Refusal("This was not sent by the broker.", { id: "unauthorized", status: 401 });
    const what = JSON.parse(body.toString("utf8")) as What;
    if (!(await kit.resources.find(what.queue)))
      throw new Refusal("There is no such queue.", { id: "not_found", status: 404 });
    return what;
  }
}
