import { type Request, type Response, Router } from "express";
import type { Platform } from "../platform.ts";
import { invalid, notFound } from "../refusal.ts";
import { clientShape, newClientShape } from "../shapes/client.ts";
import { checkClientWish, registerClient, removeClient, rotateSecret } from "../world/clients.ts";
import type { ClientRecord } from "../world/records.ts";
import { answer, answerList } from "./answer.ts";
import { userOf } from "./caller.ts";
import { readObject } from "./json-body.ts";

/**
 * "OAuth client": a user registers, lists, changes and deletes their clients, and rotates their secrets (assumed,
 * section 7).
 */
export function clientEndpoints({ world }: Platform): Router {
  const router = Router();

  router.post("/oauth/clients", (req, res) => {
    const { name, redirectUri } = readWish(req, res);
    if (name === undefined || redirectUri === undefined) throw invalid("name and redirect_uri are needed.");
    const client = registerClient(world, { name, redirectUri }, userOf(res).user.id);
    answer(res.status(201), newClientShape(client), client);
  });

  router.get("/oauth/clients", (req, res) => {
    answerList(req, res, world.clients.of("owner", userOf(res).user.id), clientShape);
  });

  router.get("/oauth/clients/:client", (req, res) => {
    const client = reach(req, res);
    answer(res, clientShape(client), client);
  });

  router.patch("/oauth/clients/:client", (req, res) => {
    const client = reach(req, res);
    Object.assign(client, readWish(req, res), { updatedAt: world.clock.now() });
    answer(res, clientShape(client), client);
  });

  router.delete("/oauth/clients/:client", (req, res) => {
    const client = reach(req, res);
    removeClient(world, client);
    answer(res, clientShape(client), client);
  });

  router.post("/oauth/clients/:client/actions/rotate-credentials", (req, res) => {
    const client = rotateSecret(world, reach(req, res));
    answer(res, newClientShape(client), client);
  });

  function reach(req: Request<{ client: string }>, res: Response): ClientRecord {
    const { user } = userOf(res);
    const client = world.clients.get(req.params.client.toLowerCase());
    if (client?.ownerId !== user.id) throw notFound("There is no such OAuth client of this account.");
    return client;
  }

  return router;
}

function readWish(req: Request, res: Response): { name?: string; redirectUri?: string } {
  const { name, redirect_uri: redirectUri } = readObject(req, res);
  if (name !== undefined && typeof name !== "string") throw invalid("name must be a string.");
  if (redirectUri !== undefined && typeof redirectUri !== "string")
    throw invalid("redirect_uri must be a string.");
  return checkClientWish({
    ...(name !== undefined && { name }),
    ...(redirectUri !== undefined && { redirectUri }),
  });
}
