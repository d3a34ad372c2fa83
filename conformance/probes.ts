import { applies, Broken, holds, needs, NotJudged } from "./rule.ts";
import { usualPatience } from "./settings.ts";
import type { Call } from "./stage/books.ts";
import { OVERTAKES_BY_MS } from "./stage/front.ts";
import type { Delivery, InstallWish, Resource, Stage } from "./stage/stage.ts";
import { jsonIn, membersIn, type Reply } from "./stage/wire.ts";

// What several rules look at is played once. A probe gives what was seen and judges nothing.

/** A scene that is played once on a stage, however many ask for it. */
export function probe<Seen>(play: (stage: Stage) => Promise<Seen>): (stage: Stage) => Promise<Seen> {
  const played = new WeakMap<Stage, Promise<Seen>>();
  return (stage) => {
    const seen = played.get(stage) ?? play(stage);
    played.set(stage, seen);
    return seen;
  };
}

export const isSuccess = (reply: Reply | null): reply is Reply =>
  reply !== null && (reply.status === 200 || reply.status === 202);
export const isRefusal = ({ status }: Reply) => status >= 400 && status < 500;

/** What an answer looked like, in a sentence's middle. */
export const shown = (reply: Reply | null) => (reply === null ? "no answer" : String(reply.status));

/** A resource that was accepted; where a plain one is not, another rule says so. */
export async function installed(stage: Stage, wish: InstallWish = {}): Promise<Resource> {
  const resource = await stage.install(wish);
  const reply = firstReply(resource);
  needs(isSuccess(reply), `a provision has to be accepted first, and was answered with ${shown(reply)}.`);
  return resource;
}

export const firstReply = ({ deliveries }: Resource): Reply | null => deliveries[0]!.reply;

export const isExchange = (call: Call) => call.kind === "exchange";
export const isRefresh = (call: Call) => call.kind === "refresh";
export const isApi = (call: Call) => call.kind === "api";
export const isDone = (call: Call) => call.reply !== null && call.reply.status < 300;

const SECRET_MEMBERS = ["code", "refresh_token", "client_secret"];

/** Whether a call's address holds what belongs into its form, by name or by value. What else stands there is harmless. */
export function isToldInAddress({ path, form }: Call): boolean {
  const secrets = SECRET_MEMBERS.flatMap((name) => form[name] ?? []);
  const query = new URLSearchParams(path.split("?", 2)[1]);
  return [...query].some(([name, value]) => SECRET_MEMBERS.includes(name) || secrets.includes(value));
}

/** Waits for a call of the service about the resource. */
export function callOf(
  stage: Stage,
  resource: Resource,
  isMeant: (call: Call) => boolean,
  withinMs = stage.settings.patience.eventMs,
): Promise<Call | null> {
  return stage.books.until(() => stage.callsOf(resource).find(isMeant), withinMs);
}

/** The successful exchange of the resource's grant. */
export async function exchanged(stage: Stage, resource: Resource): Promise<Call> {
  const call = await callOf(stage, resource, (call) => isExchange(call) && isDone(call));
  if (!call) throw new NotJudged("a grant has to be exchanged first, and was not (EXCH-01).");
  return call;
}

/** Installed, and its grant exchanged; not tried where not even the plain one is. */
export async function settled(stage: Stage, wish: InstallWish = {}): Promise<Resource> {
  await plainExchange(stage);
  const resource = await installed(stage, wish);
  await exchanged(stage, resource);
  return resource;
}

/** For what happens at once or not at all, however patient we are with the rest. */
export const momentMs = ({ settings: { patience } }: Stage): number =>
  Math.min(patience.quietMs, usualPatience.quietMs);

/** Lets time go by in which something must not happen. */
export function quiet(stage: Stage, ms = stage.settings.patience.quietMs): Promise<unknown> {
  return stage.books.until(() => null, ms);
}

/** A resource's end, and what the service was asked after it, one call after the other. */
export interface End {
  endedAt: number;
  /** When all of that was answered. */
  askedUntil: number;
}

/** Deprovisions a resource; where that is refused, nothing can be said of what follows. */
export async function deprovisioned(stage: Stage, resource: Resource): Promise<End> {
  const { reply } = await stage.deprovision(resource);
  needs(
    reply && reply.status < 300,
    `a deprovision has to succeed first, and was answered with ${shown(reply)} (DEPR-01).`,
  );
  const endedAt = performance.now();
  for (let left = 3; left > 0; left--) await stage.deprovision(resource);
  return { endedAt, askedUntil: performance.now() };
}

/**
 * How long what left the service before it knew of an end may still be on its way, for calls overtake each other: longer
 * by way of a network, longer where answers take long too, and longer where somebody told us to be patient.
 */
export function underWayMs(stage: Stage, { endedAt, askedUntil }: End): number {
  const { platformUrl, patience } = stage.settings;
  const nearMs = platformUrl === null ? OVERTAKES_BY_MS : Math.max(OVERTAKES_BY_MS, momentMs(stage) / 4);
  const patientMs = Math.min((patience.quietMs - momentMs(stage)) / 10, momentMs(stage));
  const busyMs = Math.min(2 * (askedUntil - endedAt), momentMs(stage));
  return Math.max(nearMs, patientMs, busyMs);
}

/**
 * Calls that began after an end. Whatever the service had begun before has gone out once it has answered several calls
 * that came later, however busy it is, or we are.
 */
export function beganAfter(stage: Stage, end: End) {
  const from = end.askedUntil + underWayMs(stage, end);
  return (call: Call) => call.at > from;
}

export const plain = probe((stage) => stage.install());
/** Its answer, where it is a success. */
export async function plainAnswer(stage: Stage): Promise<Reply> {
  const reply = firstReply(await plain(stage));
  needs(isSuccess(reply), `a provision has to be accepted first, and was answered with ${shown(reply)}.`);
  return reply;
}
/** The plain resource's exchange. */
export const plainExchange = probe(async (stage) => {
  await plainAnswer(stage);
  return exchanged(stage, await plain(stage));
});

/** The first call with which the service tried to exchange the plain resource's grant, good or not. */
export const plainAttempt = probe(async (stage) => {
  await plainAnswer(stage);
  const call = await callOf(stage, await plain(stage), (call) => isExchange(call) && call.endedAt !== null);
  needs(call, "a grant has to be exchanged first, and nobody tried (EXCH-01).");
  return call;
});

/** A provision that comes again after all was well. */
export const repeated = probe(async (stage) => {
  const resource = await settled(stage);
  const { reply } = await stage.redeliver(resource);
  return { resource, first: firstReply(resource)!, again: reply };
});

/** What is said of special repetitions presumes that a plain one succeeds, and is answered as the first. */
export async function repeatsWell(stage: Stage): Promise<void> {
  const { first, again } = await repeated(stage);
  needs(isSuccess(again), "a repeated provision has to succeed first (IDEM-01).");
  needs(
    first.status === again.status && first.text === again.text,
    "a repeated provision has to be answered as the first (IDEM-02).",
  );
}

/** A provision of a plan that nobody sells. */
export const strangePlan = probe((stage) => stage.install({ plan: "no-such-plan-of-anybody" }));

/** One resource from its beginning to its end, and what comes after. */
export const life = probe(async (stage) => {
  const resource = await settled(stage, { tokenLifeSeconds: stage.settings.patience.tokenLifeSeconds });
  const end = await stage.deprovision(resource);
  const endedAt = performance.now();
  needs(
    end.reply && end.reply.status < 300,
    `a deprovision has to succeed first, and was answered with ${shown(end.reply)} (DEPR-01).`,
  );
  const provisionAgain = await stage.redeliver(resource);
  const changeAgain = await stage.changePlan(resource, stage.settings.plan);
  const deprovisionAgain = await stage.deprovision(resource);
  const askedUntil = performance.now();
  return { resource, endedAt, askedUntil, provisionAgain, changeAgain, deprovisionAgain };
});

/** The plan that is changed to; for those who name none there is nothing to see. */
export function otherPlan({ settings }: Stage): string {
  applies(settings.otherPlan, "no second plan was named (--other-plan).");
  return settings.otherPlan;
}

/** A resource with a plan that takes its time. */
export async function begun(stage: Stage, wish: InstallWish = {}): Promise<Resource> {
  const plan = stage.settings.asyncPlan;
  applies(plan, "no plan that is provisioned asynchronously was named (--async-plan).");
  const resource = await stage.install({ plan, ...wish });
  const reply = firstReply(resource);
  needs(reply?.status === 202, `the plan ${plan} was to be answered with 202, and was with ${shown(reply)}.`);
  return resource;
}

export const isMark = ({ method, path }: Call) => method === "POST" && /\/actions\/provision\/?$/.test(path);
export const isConfigPush = ({ method, path }: Call) => method === "PATCH" && /\/config\/?$/.test(path);

/** The call that told the platform that an asynchronous provision is done. */
export async function marked(stage: Stage, resource: Resource): Promise<Call> {
  const call = await callOf(stage, resource, (call) => isMark(call) && isDone(call));
  if (!call) throw new NotJudged("an asynchronous provision has to be completed first (ASYNC-03).");
  return call;
}

/** An asynchronous provision from the 202 to its end. */
export const begunOnce = probe((stage) => begun(stage));
/** What follows it needs tokens. */
export async function begunWithTokens(stage: Stage): Promise<Resource> {
  const resource = await begunOnce(stage);
  await plainExchange(stage);
  return resource;
}
export const completed = probe(async (stage) => {
  const resource = await begunWithTokens(stage);
  await marked(stage, resource);
  return resource;
});

/** The members of an answer; none where it is no JSON object. */
export function membersOf(reply: Reply): Record<string, unknown> {
  return membersIn(reply.text);
}

/** Throws {@link Broken} unless the answer is a JSON object and says so. */
export function answeredWithObject({ headers, text }: Reply): void {
  const type = headers["content-type"] ?? "";
  holds(/^application\/([\w.-]+\+)?json\b/i.test(type), `The Content-Type is ${type || "missing"}.`);
  const value = jsonIn(text);
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  holds(isObject, "The body is no JSON object.");
}

/** Throws {@link Broken} unless the call was answered with one of these. */
export function answeredWith(reply: Reply | null, ...statuses: number[]): asserts reply is Reply {
  holds(reply, `There was no answer; ${statuses.join(" or ")} was due.`);
  if (!statuses.includes(reply.status))
    throw new Broken(`It was answered with ${reply.status}; ${statuses.join(" or ")} was due.`);
}

export const replyOf = ({ reply }: Delivery): Reply | null => reply;

/** Where the client secret was learnt from the service itself, nothing can be said about it. */
export function needsSecret(stage: Stage): void {
  applies(stage.isSecretKnown(), "the client secret was not given (CLIENT_SECRET).");
}
