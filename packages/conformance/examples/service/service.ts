import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Body, goodHabits } from "./habits.ts";
import { createSignOn, goodSignOnHabits } from "./sign-on.ts";
import { goodTokenHabits } from "./token-habits.ts";
import { createTokens } from "./tokens.ts";
import type { Answer, Request, Resource, ServiceSettings } from "./types.ts";

/** All behaviour of the example that can be replaced. */
export const good = { ...goodHabits, ...goodTokenHabits, ...goodSignOnHabits };
export type Habits = typeof good;

/** How long an answer waits for an exchange that precedes it. */
const EXCHANGES_WITHIN_MS = 15_000;

/** Takes work that begins only once the answer has been sent. */
type After = (work: () => unknown) => void;

export interface ExampleService {
  url: string;
  close(): Promise<void>;
}

/**
 * A complete partner service on nothing but Node. It keeps its state in memory and shares no code with the kit. It
 * proves the rules, and shows how to write a service in another language.
 */
export async function startExample(
  settings: ServiceSettings,
  habits: Habits = good,
): Promise<ExampleService> {
  const resources = new Map<string, Resource>();
  const tokens = createTokens(settings, habits);
  const isUp = (uuid: string) => resources.get(uuid)?.isGone === false;
  const signOn = settings.ssoSalt ? createSignOn(settings.ssoSalt, habits, isUp) : null;

  function provision(wanted: Body, after: After): Answer {
    const { uuid, plan, code } = wanted;
    const known = resources.get(uuid);
    const isAsync = habits.takesItsTime(plan);
    const begin = (resource: Resource) => code && after(() => tokens.exchange(resource, code, isAsync));
    if (known) {
      if (known.isGone ? habits.exchangesForTheGone : habits.exchangesRepeated) begin(known);
      return known.isGone ? habits.gone("POST") : habits.again(known, wanted);
    }
    const answer = isAsync ? habits.begun(uuid) : habits.provisioned(uuid, plan, wanted);
    const resource: Resource = {
      ...{ uuid, plan, answer, code, isGone: false, isAnswered: false, failedTries: 0 },
      ...{ accessToken: null, refreshToken: null, timers: new Set(), refreshing: null },
    };
    if (habits.sells(plan)) resources.set(uuid, resource);
    if (habits.sells(plan) || habits.exchangesRefused) begin(resource);
    after(() => (resource.isAnswered = true));
    return habits.sells(plan) ? answer : habits.unknownPlan("POST");
  }

  function change(resource: Resource, plan: unknown): Answer {
    if (!habits.changesTo(plan)) return habits.unknownPlan("PUT");
    const answer = habits.changed(resource, String(plan));
    if (answer.status < 300) resource.plan = String(plan);
    return answer;
  }

  function end(resource: Resource): Answer {
    const answer = habits.deprovisioned(resource);
    resource.isGone = answer.status < 300;
    if (resource.isGone) tokens.end(resource);
    return answer;
  }

  function withResource(method: string, uuid: string, act: (resource: Resource) => Answer): Answer {
    const resource = resources.get(habits.uuidOf(uuid));
    if (!resource || !habits.isUuid(uuid)) return habits.unknown(method, uuid);
    return resource.isGone ? habits.gone(method) : act(resource);
  }

  function answer(request: Request, after: After): Answer {
    const { method, path, text } = request;
    const [, root, uuid = "", rest] = path.split("?", 1)[0]!.split("/");
    if (method === "POST" && path === "/sso/login" && signOn)
      return signOn.enter(Object.fromEntries(new URLSearchParams(text)));
    if (method === "GET" && root === "customer" && signOn) return signOn.show(request);
    if (root !== "resources" || rest !== undefined) return habits.unknown(method, uuid);
    if (habits.isPlatform(settings, request)) return serve(request, uuid, after);
    const refused = habits.unauthorized(request, isUp(uuid));
    if (habits.worksForStrangers(request)) serve(request, uuid, after);
    return refused;
  }

  function serve(request: Request, uuid: string, after: After): Answer {
    const { method } = request;
    if (method === "DELETE" && uuid) return withResource(method, uuid, end);
    if (method !== (uuid ? "PUT" : "POST")) return habits.otherMethod(method);
    const members = habits.read(request);
    if (isAnswer(members)) return members;
    if (uuid) return withResource(method, uuid, (resource) => change(resource, habits.planOf(members)));
    const wanted = habits.readProvision(members);
    return isAnswer(wanted) ? wanted : provision(wanted, after);
  }

  const server = createServer((incoming, response) => {
    respond(incoming, response, async (request, tookMs) => {
      if (tookMs > habits.bodyWithinMs) return { status: 408 };
      const before: unknown[] = [];
      const answered = answer(request, (work) => {
        if (habits.exchangesBeforeAnswering) before.push(work());
        else response.on("finish", () => setTimeout(work, habits.worksAfterMs));
      });
      if (before.length > 0) await Promise.race([Promise.all(before), sleep(EXCHANGES_WITHIN_MS)]);
      await sleep(habits.answerTakesMs(request));
      return { ...answered, headers: { ...habits.headers, ...answered.headers } };
    }).catch(() => incoming.destroy()); // The caller hung up in the middle of the body.
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(settings.port, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const resource of resources.values()) {
        resource.isGone = true;
        for (const timer of resource.timers) clearTimeout(timer);
      }
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function respond(
  incoming: IncomingMessage,
  response: ServerResponse,
  answer: (request: Request, tookMs: number) => Promise<Answer>,
) {
  const beganAt = performance.now();
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  const { method = "", url: path = "", headers } = incoming;
  const request = { method, path, headers, text: Buffer.concat(chunks).toString() };
  const { status, body, page, headers: more } = await answer(request, performance.now() - beganAt);
  const type = page ? "text/html" : body ? "application/json" : null;
  response.writeHead(status, { ...(type && { "content-type": type }), ...more });
  response.end(page ?? (body && JSON.stringify(body)));
}

function isAnswer(value: object): value is Answer {
  return "status" in value && typeof value.status === "number";
}
