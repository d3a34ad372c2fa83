import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import express, { Router, type Request, type Response } from "express";
import { Refusal } from "../errors.ts";
import { methodNotAllowed } from "../method-not-allowed.ts";
import type { Scrubber } from "../scrubber.ts";
import type { Secret } from "../secret.ts";
import type { ChangePlan } from "../resources/change-plan.ts";
import type { Deprovision } from "../resources/deprovision.ts";
import type { Provision } from "../resources/provision.ts";
import type { Answer } from "../resources/provision-answers.ts";
import { notFound } from "../resources/refusals.ts";
import { authenticate } from "./authenticate.ts";
import { readUuid } from "../uuid.ts";
import { readPlanChange, readProvision } from "./requests.ts";

/** Larger bodies are answered 413; compressed ones count as they come out. */
const MOST_BODY_BYTES = 64 * 1024;

/** The three calls of the platform (decisions, section 1), to be mounted at `RESOURCES_PATH`. */
export function partnerApi(needs: {
  addonId: string;
  passwords: readonly Secret[];
  provision: Provision;
  changePlan: ChangePlan;
  deprovision: Deprovision;
  /** Waits until the service can do work, if it has just started. */
  untilReady(): Promise<void>;
  /** Called when a successful answer to a provision has gone out: from then on the grant can be exchanged. */
  onAnswered(): void;
  scrubber: Scrubber;
}): Router {
  const { provision, changePlan, deprovision, untilReady, onAnswered, scrubber } = needs;
  const router = Router({ caseSensitive: true });
  router.use(authenticate(needs.addonId, needs.passwords));
  const json = express.json({ limit: MOST_BODY_BYTES, strict: false, type: isUtf8Json, verify: noteBroken });

  router
    .route("/")
    .post(json, async (request, response) => {
      const wanted = readProvision(bodyOf(request), String(request.id));
      const hidden = [wanted.grant?.code, wanted.logInputUrl, wanted.logDrainToken].filter(
        (each) => each != null,
      );
      const reveal = scrubber.hide(...hidden);
      response.on("close", reveal);
      await untilReady();
      const answer = await provision(wanted);
      if (answer.status < 300) response.on("finish", onAnswered);
      send(response, answer);
    })
    .all(methodNotAllowed("POST"));

  router
    .route("/:uuid")
    .put(json, async (request, response) => {
      const plan = readPlanChange(bodyOf(request));
      const uuid = uuidOf(request);
      await untilReady();
      send(response, await changePlan(uuid, plan, String(request.id)));
    })
    .delete(async (request, response) => {
      const uuid = uuidOf(request);
      await untilReady();
      await deprovision(uuid, String(request.id));
      response.status(204).end();
    })
    .all(methodNotAllowed("PUT, DELETE"));

  return router;
}

/** `application/json` and every `+json`, in UTF-8. */
function isUtf8Json({ headers }: { headers: Request["headers"] }): boolean {
  const [type = "", ...parameters] = (headers["content-type"] ?? "").toLowerCase().split(";");
  const charset = parameters.map((each) => each.trim()).find((each) => each.startsWith("charset="));
  return (
    /^application\/([\w.+-]+\+)?json$/.test(type.trim()) &&
    (charset === undefined || /^charset="?utf-?8"?$/.test(charset))
  );
}

/** Requests whose bytes are no UTF-8. The parser would put another character in their place and say nothing. */
const broken = new WeakSet<IncomingMessage>();

function noteBroken(request: IncomingMessage, _response: unknown, body: Buffer): void {
  if (!isUtf8(body)) broken.add(request);
}

function bodyOf(request: Request): unknown {
  if (broken.has(request)) throw new Refusal("The body is not UTF-8.", { id: "invalid_params" });
  if (request.body !== undefined) return request.body;
  const isJson = isUtf8Json(request);
  throw new Refusal(
    isJson ? "The request has no body." : "The body must be JSON in UTF-8 (content-type: application/json).",
    {
      id: isJson ? "bad_request" : "unsupported_media_type",
      status: isJson ? 400 : 415,
    },
  );
}

/** The uuid of the path. What is none was never provisioned; it goes nowhere near a database or an address. */
function uuidOf(request: Request): string {
  const uuid = readUuid(request.params["uuid"]);
  if (!uuid) throw notFound();
  return uuid;
}

function send(response: Response, { status, body }: Answer): void {
  response.writeHead(status, {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(body),
  });
  response.end(body);
}
