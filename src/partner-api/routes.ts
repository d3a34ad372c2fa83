import { type Request, type RequestHandler, type Response, Router } from "express";
import type { Context } from "../context.ts";
import { Refusal } from "../errors.ts";
import { methodNotAllowed } from "../http/requests.ts";
import { CallerGone, type Callers } from "../http/standstill.ts";
import { noteUnknown } from "../ledgers/marks.ts";
import type { Unknown } from "../ledgers/store.ts";
import { EACH } from "../logging/log.ts";
import { type Answer, notFound } from "../resources/answers.ts";
import { changePlan } from "../resources/change-plan.ts";
import { deprovision } from "../resources/deprovision.ts";
import { provision } from "../resources/provision.ts";
import type { ProvisionRequest } from "../resources/rows.ts";
import { findResource } from "../resources/store.ts";
import { readUuid } from "../values.ts";
import { readBody, readPlan, readProvision } from "./requests.ts";

interface Needs {
  guard: RequestHandler;
  /** Waits for a service that has just started; null: it has started. */
  untilReady(): Promise<void> | null;
  callers: Callers;
}

/** The three calls of the platform (assumed, section 1). None is carried out for a caller that has gone. */
export function partnerApi(ctx: Context, { guard, untilReady, callers }: Needs): Router {
  const router = Router({ caseSensitive: true });
  router.use(guard);

  router
    .route("/")
    .post(async (request, response) => {
      const receivedAtMs = performance.now();
      const wanted = readProvision(await readBody(request), String(request.id));
      let answer: Answer;
      try {
        await untilReady();
        await callers.stillWaits(request, receivedAtMs);
        answer = await provision(ctx, wanted, receivedAtMs, () => request.socket.writable);
      } catch (error) {
        if (await isLost(ctx, wanted.uuid, error)) {
          // Behind a router, a caller that has gone may have got another answer from another process.
          const isHeard = await callers.stillWaits(request, receivedAtMs).then(
            () => request.socket.writable,
            () => false,
          );
          lose(ctx, wanted, String(request.id), { error, isHeard });
        }
        throw error;
      }
      // The platform accepts the grant's code from now on. The job `exchange-grants` runs credentials/pools.ts.
      if (answer.status < 300) response.on("finish", () => ctx.wake.exchangeGrants(ctx.pace.exchangeAfterMs));
      send(response, answer);
    })
    .all(methodNotAllowed("POST"));

  router
    .route("/:uuid")
    .put(async (request, response) => {
      const receivedAtMs = performance.now();
      const plan = readPlan(await readBody(request));
      const uuid = uuidOf(request);
      await untilReady();
      await callers.stillWaits(request, receivedAtMs);
      const about = { uuid, request: "PUT", plan, requestId: String(request.id) } as const;
      const changed = changePlan(ctx, uuid, plan, about.requestId, receivedAtMs);
      send(response, await changed.catch(noting(ctx, about)));
    })
    .delete(async (request, response) => {
      const receivedAtMs = performance.now();
      const uuid = uuidOf(request);
      await untilReady();
      await callers.stillWaits(request, receivedAtMs);
      const about = { uuid, request: "DELETE", requestId: String(request.id) } as const;
      await deprovision(ctx, uuid, about.requestId, receivedAtMs).catch(noting(ctx, about));
      response.status(204).end();
    })
    .all(methodNotAllowed("PUT, DELETE"));

  return router;
}

/**
 * Whether a provision is lost. The platform takes every answer but a success as final. A caller that gave up during a
 * standstill may be a router that got the answer from another process, which has stored the resource then.
 */
async function isLost({ db }: Context, uuid: string, error: unknown): Promise<boolean> {
  if (!(error instanceof CallerGone)) return !(error instanceof Refusal);
  return (await findResource(db, uuid).catch(() => null)) === null;
}

function lose(
  ctx: Context,
  wanted: ProvisionRequest,
  requestId: string,
  failed: { error: unknown; isHeard: boolean },
): void {
  const { uuid, plan, name } = wanted;
  const { reason } = ctx.lostSales.note(wanted, requestId, failed);
  const about = { alarm: "provision_lost", uuid, plan, name, requestId, reason, [EACH]: true };
  ctx.log.error(about, "A provision is lost: write to its customer (kit lost)");
}

/** Notes that the platform sent a request about a resource that was never provisioned here. */
const noting = (ctx: Context, about: Unknown) => async (error: unknown) => {
  if (error instanceof Refusal && error.id === notFound().id) await noteUnknown(ctx, about);
  throw error;
};

/** Any text that is not a uuid is answered 404 before it reaches the database or a URL. */
function uuidOf(request: Request): string {
  const uuid = readUuid(request.params["uuid"]);
  if (!uuid) throw notFound();
  return uuid;
}

function send(response: Response, { status, body }: Answer): void {
  response.writeHead(status, {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(body),
    // The body may contain the config vars.
    "Cache-Control": "no-store",
  });
  response.end(body);
}
