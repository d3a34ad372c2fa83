import { randomUUID } from "node:crypto";
import { applies, Broken, holds, needs, NotJudged } from "./rule.ts";
import { usualPatience } from "./settings.ts";
import type { Call } from "./stage/books.ts";
import { OVERTAKES_BY_MS } from "./stage/front.ts";
import type { Script } from "./stage/script.ts";
import type { InstallWish, Resource, Stage } from "./stage/stage.ts";
import { callsOfRule, jsonIn, jsonReply, membersIn, type Reply } from "./stage/wire.ts";

// A scene that several rules look at is played once. A probe returns what was seen and judges nothing.

/** A scene that is played once per stage, for all rules that ask for it. */
export function probe<Seen>(play: (stage: Stage) => Promise<Seen>): (stage: Stage) => Promise<Seen> {
  const played = new WeakMap<Stage, Promise<Seen>>();
  return (stage) => {
    const seen = played.get(stage) ?? play(stage);
    played.set(stage, seen);
    return seen;
  };
}

/** The statuses of success. 201 is one by the platform's document; PROV-01 says what is known of it. */
const SUCCESSES = [200, 201, 202];
export const isSuccess = (reply: Reply | null): reply is Reply =>
  reply !== null && SUCCESSES.includes(reply.status);
export const isRefusal = ({ status }: Reply) => status >= 400 && status < 500;

/** An answer, for the middle of a sentence. */
export const shown = (reply: Reply | null) => (reply === null ? "no answer" : String(reply.status));

/** A resource that was accepted. Throws NotJudged otherwise, because another rule reports that. */
export async function installed(stage: Stage, wish: InstallWish = {}): Promise<Resource> {
  const resource = await stage.install(wish);
  accepted(resource);
  return resource;
}

/** The answer of a resource's first provision. Throws NotJudged unless it is a success. */
export function accepted(resource: Resource): Reply {
  const reply = firstReply(resource);
  const why = `a provision has to be accepted first, and was answered with ${shown(reply)}.`;
  needs(isSuccess(reply), why, "PROV-01");
  return reply;
}

export const PAUSE_MS = 1_000;

/**
 * The first resource that is accepted of at most `tries`, each provisioned a second after the one before was refused; the
 * last one if none is accepted. A service that refuses one of many at the same moment accepts one of these.
 */
export async function installedInTime(
  stage: Stage,
  tries: number,
  wish: InstallWish = {},
): Promise<Resource> {
  const resource = await stage.install(wish);
  if (tries <= 1 || isSuccess(firstReply(resource))) return resource;
  await quiet(stage, PAUSE_MS);
  return installedInTime(stage, tries - 1, wish);
}

export const firstReply = ({ deliveries }: Resource): Reply | null => deliveries[0]!.reply;

export const isExchange = (call: Call) => call.kind === "exchange";
export const isRefresh = (call: Call) => call.kind === "refresh";
/** Where the redirects point that the checker answers: nothing of the platform. */
export const ELSEWHERE = "/elsewhere";
export const isStray = ({ path }: Call) => path.startsWith(ELSEWHERE);
export const isApi = (call: Call) => call.kind === "api" && !isStray(call);
export const isDone = (call: Call) => call.reply !== null && call.reply.status < 300;

const SECRET_MEMBERS = ["code", "refresh_token", "client_secret"];

/**
 * Whether the query of a call contains a member of its form, by name or by value. Other members of the query are
 * harmless.
 */
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

export const isExchanged = (call: Call) => isExchange(call) && isDone(call);

/** Waits for the successful exchange of the resource's grant. */
export const exchangeOf = (stage: Stage, resource: Resource) => callOf(stage, resource, isExchanged);

/** For as long as `watch` takes, each try to exchange the grant of a resource with the given script meets 503. */
export async function whileExchangeFails<Seen>(watch: (failing: Script) => Promise<Seen>): Promise<Seen> {
  let isOver = false;
  const unavailable = () => ({
    reply: jsonReply(503, { id: "service_unavailable", message: "Later, please." }),
  });
  try {
    return await watch({ react: (call) => (isExchange(call) && !isOver ? unavailable() : undefined) });
  } finally {
    isOver = true;
  }
}

/** What an exchange can do wrong, each under the rule that demands the opposite; null where it is right. */
export const EXCHANGE_FAULTS: Record<string, (call: Call, stage: Stage) => string | null> = {
  "EXCH-02": ({ isEarly }) =>
    isEarly ? "The code came while the provision request was still waiting for its answer." : null,
  "EXCH-05"({ method, headers }) {
    const type = headers["content-type"] ?? "";
    if (method !== "POST") return `It was a ${method}.`;
    return /^application\/x-www-form-urlencoded\b/i.test(type)
      ? null
      : `The Content-Type was ${type || "missing"}.`;
  },
  "EXCH-06"({ form }, { books }) {
    const { grant_type: type, code = "" } = form;
    if (type !== "authorization_code") return `grant_type was ${type ? "another" : "missing"}.`;
    return books.codes.has(code) ? null : "code was missing, or was not the one of the request.";
  },
  "EXCH-07": ({ form }) => (form["client_secret"] ? null : "The form has no client_secret."),
  "EXCH-08": ({ form }, { settings: { clientSecret } }) =>
    clientSecret === null || form["client_secret"] === clientSecret
      ? null
      : "It is not the client secret that the platform was given (CLIENT_SECRET).",
  "EXCH-09": (call) =>
    isToldInAddress(call) ? "A member of the form stands in the token endpoint's address." : null,
};

/** How EXCH-03 says that a code was sent again before its first answer: the tokens may be lost then. */
export const AT_ONCE = "by two calls at the same moment";

/** Why the resource's grant was not exchanged, with the rule that its exchange breaks. */
export function notExchanged(stage: Stage, resource: Resource): NotJudged {
  const tries = stage.callsOf(resource).filter(isExchange);
  const isBroken = (id: string) => tries.some((call) => EXCHANGE_FAULTS[id]!(call, stage) !== null);
  const broken = Object.keys(EXCHANGE_FAULTS).find(isBroken) ?? "EXCH-01";
  const last = tries.at(-1);
  const how = last ? `its exchange was answered with ${shown(last.reply)}` : "nobody sent its code";
  return new NotJudged(`a grant has to be exchanged first, and ${how}.`, broken);
}

/** The successful exchange of the resource's grant. */
export async function exchanged(stage: Stage, resource: Resource): Promise<Call> {
  const call = await exchangeOf(stage, resource);
  if (!call) throw notExchanged(stage, resource);
  return call;
}

/** A resource whose grant was exchanged. Not tried if the exchange of the plain resource has failed already. */
export async function settled(stage: Stage, wish: InstallWish = {}): Promise<Resource> {
  await plainExchange(stage);
  const resource = await installed(stage, wish);
  await exchanged(stage, resource);
  return resource;
}

/**
 * A resource for rules that need no tokens: at a service that exchanges grants it has them, and is ready, because what
 * happens before that is judged by other rules.
 */
export async function ready(stage: Stage, wish: InstallWish = {}): Promise<Resource> {
  const isUsual = await plainExchange(stage).then(
    () => true,
    () => false,
  );
  const resource = await installed(stage, wish);
  if (isUsual && firstReply(resource)!.status === 202) await markOf(stage, resource);
  else if (isUsual) await exchangeOf(stage, resource);
  return resource;
}

const hasTokens = (stage: Stage, resource: Resource) => stage.callsOf(resource).some(isExchanged);

/** Throws NotJudged if a call was refused that the service may have refused for want of tokens. */
export function hadTokens(stage: Stage, resource: Resource, reply: Reply | null): void {
  const isTaken = reply !== null && reply.status < 300;
  if (!isTaken && !hasTokens(stage, resource)) throw notExchanged(stage, resource);
}

/** How long to watch for things that happen at once or not at all, however patient the settings are. */
export const momentMs = ({ settings: { patience } }: Stage): number =>
  Math.min(patience.quietMs, usualPatience.quietMs);

/** Waits while something must not happen. */
export function quiet(stage: Stage, ms = stage.settings.patience.quietMs): Promise<unknown> {
  return stage.books.until(() => null, ms);
}

/** More calls of one kind than this, with pauses that stay short, are a storm. */
export const MANY_TRIES = 7;

/** Watches calls that fail, from the first on. The last pause in ms if they come in a storm, else null. */
export async function stormPauseMs(stage: Stage, calls: () => readonly Call[]): Promise<number | null> {
  const watchedMs = 2 * momentMs(stage);
  await stage.books.until(() => calls().length > MANY_TRIES, watchedMs);
  // A machine that stood still was watched for longer: who waits longer from try to try is no storm.
  const [before, last] = calls().slice(MANY_TRIES - 1);
  const pauseMs = last ? last.at - before!.at : Infinity;
  return pauseMs > watchedMs ? null : pauseMs;
}

/** A resource's end, and the calls that the service got after it, one after the other. */
export interface End {
  endedAt: number;
  /** When the last of these calls was answered. */
  askedUntil: number;
}

/**
 * Deprovisions a resource, and returns when that was. Throws NotJudged if it is refused, because nothing follows from
 * what happens then.
 */
async function ended(
  stage: Stage,
  resource: Resource,
  broken = hasTokens(stage, resource) ? "DEPR-01" : "DEPR-04",
): Promise<number> {
  // The tokens may have been sent a moment ago: who stores them after the end all the same breaks a rule of its own.
  const exchange = stage.callsOf(resource).find(isExchanged);
  if (exchange) await quiet(stage, OVERTAKES_BY_MS - (performance.now() - exchange.endedAt!));
  const { reply } = await stage.deprovision(resource);
  const why = `a deprovision has to succeed first, and was answered with ${shown(reply)}.`;
  needs(reply && reply.status < 300, why, broken);
  return performance.now();
}

/**
 * Deprovisions a resource, and asks the service several times afterwards. Throws NotJudged with `broken`, the rule that
 * demands it, if it is refused.
 */
export async function deprovisioned(stage: Stage, resource: Resource, broken?: string): Promise<End> {
  const endedAt = await ended(stage, resource, broken);
  for (let left = 3; left > 0; left--) await stage.deprovision(resource);
  return { endedAt, askedUntil: performance.now() };
}

/**
 * How many ms a call that the service sent before it knew of the end may still be under way, since calls can overtake
 * each other: longer over a network, longer if answers take long, and longer if the settings ask for patience.
 */
export function underWayMs(stage: Stage, { endedAt, askedUntil }: End): number {
  const { platformUrl, patience } = stage.settings;
  const nearMs = platformUrl === null ? OVERTAKES_BY_MS : Math.max(OVERTAKES_BY_MS, momentMs(stage) / 4);
  const patientMs = Math.min((patience.quietMs - momentMs(stage)) / 10, momentMs(stage));
  const busyMs = Math.min(2 * (askedUntil - endedAt), momentMs(stage));
  return Math.max(nearMs, patientMs, busyMs);
}

/**
 * Matches calls that began after an end. A service that has answered several later calls has sent everything it had
 * begun before the end, even on a busy machine.
 */
export function beganAfter(stage: Stage, end: End) {
  const from = end.askedUntil + underWayMs(stage, end);
  return (call: Call) => call.at > from;
}

export const plain = probe((stage) => stage.install());
/** The answer to the plain resource's provision, if it is a success. */
export const plainAnswer = async (stage: Stage): Promise<Reply> => accepted(await plain(stage));
/** The exchange of the plain resource's grant. */
export const plainExchange = probe(async (stage) => {
  await plainAnswer(stage);
  return exchanged(stage, await plain(stage));
});

/** The first call with which the service tried to exchange the plain resource's grant, good or not. */
export const plainAttempt = probe(async (stage) => {
  await plainAnswer(stage);
  const resource = await plain(stage);
  const call = await callOf(stage, resource, (call) => isExchange(call) && call.endedAt !== null);
  if (!call) throw notExchanged(stage, resource);
  return call;
});

const CROWD = 12;
/** Provisions at the same moment. */
export const crowd = probe(async (stage) => {
  await plainAnswer(stage);
  return Promise.all(Array.from({ length: CROWD }, () => stage.install()));
});

/** A provision that is repeated after everything succeeded. */
export const repeated = probe(async (stage) => {
  const resource = await ready(stage);
  const { reply } = await stage.redeliver(resource);
  return { resource, first: firstReply(resource)!, again: reply };
});

/**
 * Throws NotJudged unless a plain repetition succeeds with the first answer, which rules about special repetitions
 * presume.
 */
export async function repeatsWell(stage: Stage): Promise<void> {
  const { first, again } = await repeated(stage);
  needs(isSuccess(again), "a repeated provision has to succeed first.", "IDEM-01");
  needs(
    first.status === again.status && first.text === again.text,
    "a repeated provision has to be answered as the first.",
    "IDEM-02",
  );
}

/** A provision of a plan that does not exist. */
export const strangePlan = probe((stage) => stage.install({ plan: "no-such-plan-of-anybody" }));

/** A resource that was deprovisioned, and had tokens that live for seconds. */
export const gone = probe(async (stage) => {
  const resource = await ready(stage, { tokenLifeSeconds: stage.settings.patience.tokenLifeSeconds });
  return { resource, ...(await deprovisioned(stage, resource)) };
});

/** One resource from its provision to its end, and calls after that. */
export const life = probe(async (stage) => {
  const resource = await ready(stage);
  const endedAt = await ended(stage, resource);
  // The provision last: a service that makes the resource live again breaks one rule, not three.
  // Each is made for the rule that judges it, so that ERR-04 finds its answer there.
  const changeAgain = await callsOfRule.run("TOMB-02", () => stage.changePlan(resource, stage.settings.plan));
  const deprovisionAgain = await callsOfRule.run("TOMB-03", () => stage.deprovision(resource));
  const provisionAgain = await callsOfRule.run("TOMB-01", () => stage.redeliver(resource));
  return { resource, endedAt, provisionAgain, changeAgain, deprovisionAgain };
});

/** Throws NotJudged if a deprovision of what never was is answered in the same wrong way: then nothing is looked up. */
export async function knowsWhatIs({ service }: Stage, { status }: Reply): Promise<void> {
  const unknown = await service.send({ method: "DELETE", below: `/${randomUUID()}` });
  const isSame = unknown.status !== 404 && unknown.status === status;
  needs(
    !isSame,
    `a deprovision of what never was has to be refused with 404 first, and was answered with ${status}.`,
    "DEPR-02",
  );
}

/** The plan to change to. Throws NotApplicable if none was named. */
export function otherPlan({ settings }: Stage): string {
  applies(settings.otherPlan, "no second plan was named.", "--other-plan");
  return settings.otherPlan;
}

/** The plan that is provisioned asynchronously. Throws NotApplicable if none was named. */
export function laterPlan({ settings }: Stage): string {
  applies(settings.asyncPlan, "no plan that is provisioned asynchronously was named.", "--async-plan");
  return settings.asyncPlan;
}

/** A resource with a plan that is to be provisioned asynchronously. */
async function installedLater(stage: Stage, wish: InstallWish = {}): Promise<Resource> {
  const plan = laterPlan(stage);
  const resource = await stage.install({ plan, ...wish });
  const reply = firstReply(resource);
  needs(
    isSuccess(reply),
    `the plan ${plan} was to be provisioned, and was answered with ${shown(reply)}.`,
    "PROV-01",
  );
  return resource;
}

function answeredLater(stage: Stage, resource: Resource): Resource {
  const status = firstReply(resource)?.status;
  const why = `the plan ${laterPlan(stage)} (--async-plan) was answered with ${status}, and not 202.`;
  needs(status === 202, why, "ASYNC-01");
  return resource;
}

/** A resource with a plan that is provisioned asynchronously. */
export const begun = async (stage: Stage, wish?: InstallWish): Promise<Resource> =>
  answeredLater(stage, await installedLater(stage, wish));

export const isMark = ({ method, path }: Call) =>
  method === "POST" && /\/actions\/provision\/?(\?|$)/.test(path);
export const isConfigPush = ({ method, path }: Call) => method === "PATCH" && /\/config\/?(\?|$)/.test(path);

/** Waits for the call that ends an asynchronous provision, and before it for the exchange that it needs. */
export async function markOf(stage: Stage, resource: Resource): Promise<Call | null> {
  await exchangeOf(stage, resource);
  return callOf(stage, resource, (call) => isMark(call) && isDone(call));
}

/** The call that told the platform that an asynchronous provision is done. */
export async function marked(stage: Stage, resource: Resource): Promise<Call> {
  const call = await markOf(stage, resource);
  needs(call, "an asynchronous provision has to be completed first.", "ASYNC-03");
  return call;
}

/** An asynchronous provision from the 202 to its end. */
export const begunOnce = probe(async (stage) => answeredLater(stage, await laterOnce(stage)));

/** The same, however it was answered. */
export const laterOnce = probe((stage) => installedLater(stage));
/** The same resource, for rules that need its tokens too. */
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

/** The members of an answer; none if it is not a JSON object. */
export function membersOf(reply: Reply): Record<string, unknown> {
  return membersIn(reply.text);
}

/** Throws {@link Broken} unless the answer is a JSON object and has a JSON content type. */
export function answeredWithObject({ headers, text }: Reply): void {
  const type = headers["content-type"] ?? "";
  holds(/^application\/([\w.-]+\+)?json\b/i.test(type), `The Content-Type is ${type || "missing"}.`);
  holds(isObject({ text }), "The body is no JSON object.");
}

export function isObject({ text }: Pick<Reply, "text">): boolean {
  const value = jsonIn(text);
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Throws {@link Broken} unless the call was answered with one of these statuses. */
export function answeredWith(reply: Reply | null, ...due: number[]): asserts reply is Reply {
  answeredWithOneOf(reply, due, due.join(" or "));
}

/** Throws {@link Broken} unless the call was answered with success. */
export function answeredWithSuccess(reply: Reply | null): asserts reply is Reply {
  answeredWithOneOf(reply, SUCCESSES, "200 or 202");
}

function answeredWithOneOf(
  reply: Reply | null,
  statuses: readonly number[],
  due: string,
): asserts reply is Reply {
  holds(reply, `There was no answer; ${due} was due.`);
  if (!statuses.includes(reply.status))
    throw new Broken(`It was answered with ${reply.status}; ${due} was due.`);
}

/** All answers of the service to any call. Throws NotJudged if there was none. */
export function repliesOf({ books: { replies } }: Stage): readonly Reply[] {
  needs(replies.length > 0, "the service has to answer first.", "PROV-01");
  return replies;
}

/** Throws NotApplicable if the client secret was learnt from the service itself: then it cannot be judged. */
export function needsSecret(stage: Stage): void {
  applies(stage.settings.clientSecret !== null, "the client secret was not given.", "CLIENT_SECRET");
}
