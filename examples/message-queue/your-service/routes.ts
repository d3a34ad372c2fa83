import { createHmac, timingSafeEqual } from "node:crypto";
import express, { type Router } from "express";
import { Refusal } from "../errors.ts";
import type { Kit } from "../extend/contract.ts";
import type { YourSettings } from "./settings.ts";

interface Moved {
  queue: string;
  url: string;
}

/** `POST /broker/moved` from the broker, signed with the token that we share. */
export function mountRoutes(router: Router, kit: Kit, { queueApiToken }: YourSettings): void {
  router.post("/broker/moved", express.raw({ type: "*/*", limit: "16kb" }), async (request, response) => {
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const signature = createHmac("sha256", queueApiToken.reveal()).update(body).digest();
    const given = Buffer.from(request.get("Broker-Signature") ?? "", "hex");
    if (given.length !== signature.length || !timingSafeEqual(given, signature))
      throw new Refusal("This was not sent by the broker.", { id: "unauthorized", status: 401 });
    const { queue, url } = JSON.parse(body.toString("utf8")) as Moved;
    if (!(await kit.resources.find(queue)))
      throw new Refusal("There is no such queue.", { id: "not_found", status: 404 });
    await kit.config.set(queue, { PIGEON_URL: url });
    kit.count("pigeon_moves_total");
    kit.log.info({ uuid: queue }, "The broker has moved a queue");
    response.status(204).end();
  });
}
