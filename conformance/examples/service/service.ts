import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Body, goodHabits } from "./habits.ts";
import { createSignOn, goodSignOnHabits } from "./sign-on.ts";
import { goodTokenHabits } from "./token-habits.ts";
import { createTokens } from "./tokens.ts";
import type { Answer, Request, Resource, ServiceSettings } from "./types.ts";

/** Everything the example does in a way that could be another. */
export const good = { ...goodHabits, ...goodTokenHabits, ...goodSignOnHabits };
export type Habits = typeof good;

export interface ExampleService {
  url: string;
  close(): Promise<void>;
}

/**
 * A whole partner service on nothing but Node: it keeps what it knows in memory, and shares no code with the kit. It is
 * there to prove the rules, and to be read by those who write theirs in another language.
 */
export async function startExample(settings: ServiceSettings, habits: Habits = good): Promise<ExampleService> {
  const resources = new Map<string, Resource>();
  const tokens = createTokens(settings, habits);
  const isUp = (uuid: string) => resources.get(uuid)?.isGone === false;
  const signOn = settings.ssoSalt ? createSignOn(settings.ssoSalt, habits, isUp) : null;

  function provision({ uuid, plan, code }: Body, after: (work: () => void) => void): Answer {
    const known = resources.get(uuid);
    if (known?.isGone) return habits.gone();
    if (known) return habits.again(known.answer, { uuid, plan, code });
    const isAsync = habits.asyncPlans.includes(plan);
    const isSold = habits.plans.includes(plan);
    if (!isSold && !habits.exchangesRefused) return habits.unknownPlan();
    const answer = isAsync ? habits.begun(uuid) : habits.provisioned(uuid, plan);
    const resource: Resource = {
      ...{ uuid, plan, answer, isGone: false, code, accessToken: null, refreshToken: null },
      ...{ timers: new Set(), refreshing: null },
    };
    if (isSold) resources.set(uuid, resource);
    if (code) after(() => void tokens.exchange(resource, code, isAsync));
    return isSold ? answer : habits.unknownPlan();
  }

  function change(uuid: string, plan: unknown): Answer {
    const resource = resources.get(uuid);
    if (!resource) return habits.unknown();
    if (resource.isGone) return habits.gone();
    if (typeof plan !== "string" || !habits.plans.includes(plan)) return habits.unknownPlan();
    resource.plan = plan;
    return habits.changed(uuid, plan);
  }

  function end(uuid: string): Answer {
    const resource = resources.get(uuid);
    if (!resource) return habits.unknown();
    if (resource.isGone) return habits.gone();
    resource.isGone = true;
    tokens.end(resource);
    return habits.deprovisioned();
  }

  /** `after` is called with what begins once the answer has gone out. */
  function answer(request: Request, after: (work: () => void) => void): Answer {
    const [, root, uuid = "", rest] = request.path.split("?", 1)[0]!.split("/");
    if (request.method === "POST" && request.path === "/sso/login" && signOn)
      return signOn(Object.fromEntries(new URLSearchParams(request.text)));
    if (root !== "resources" || rest !== undefined) return habits.unknown();
    if (!habits.isPlatform(settings, request)) return habits.unauthorized();
    if (uuid !== "" && !habits.isUuid(uuid)) return habits.unknown();
    if (request.method === "DELETE" && uuid) return end(habits.uuidOf(uuid));
    if (request.method !== (uuid ? "PUT" : "POST")) return habits.otherMethod();
    const members = habits.read(request);
    if ("status" in members && typeof members.status === "number") return members as Answer;
    if (uuid) return change(habits.uuidOf(uuid), (members as Record<string, unknown>)["plan"]);
    const wanted = habits.readProvision(members as Record<string, unknown>);
    return "status" in wanted ? wanted : provision(wanted, after);
  }

  const server = createServer((incoming, response) => {
    void respond(incoming, response, async (request) => {
      const answered = answer(request, (work) => {
        if (habits.exchangesBeforeAnswering) work();
        else response.on("finish", () => setTimeout(work, 20));
      });
      await sleep(habits.answerTakesMs(request));
      return answered;
    });
  });
  await new Promise<void>((resolve) => server.listen(settings.port, "127.0.0.1", resolve));
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

async function respond(incoming: IncomingMessage, response: ServerResponse, answer: (request: Request) => Promise<Answer>) {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  const { method = "", url: path = "", headers } = incoming;
  const { status, body, headers: more } = await answer({ method, path, headers, text: Buffer.concat(chunks).toString() });
  response.writeHead(status, { ...(body && { "content-type": "application/json" }), ...more });
  response.end(body && JSON.stringify(body));
}
