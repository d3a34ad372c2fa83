import {
  callOf,
  exchangeOf,
  installed,
  isDone,
  isRefresh,
  isToldInAddress,
  notExchanged,
  plain,
  plainExchange,
  probe,
  shown,
} from "../probes.ts";
import { Broken, holds, needs, type RuleGroup } from "../rule.ts";
import { assumed, platform, rfc } from "../sections.ts";
import type { Call } from "../stage/books.ts";
import { firstTimes, type Script } from "../stage/script.ts";
import type { Resource, Stage } from "../stage/stage.ts";
import { jsonReply, membersIn, type Reply } from "../stage/wire.ts";

/** How many resources are refreshed at the same time. */
const SEVERAL = 4;
/** Fewer than this may be chance. */
const MANY_REFRESHES = 3;

const lifeMs = ({ settings }: Stage) => settings.patience.tokenLifeSeconds * 1000;
/**
 * How many ms a refresh is waited for. TOK-01 judges whether it comes in time; the other rules only look at what is
 * sent.
 */
const waitMs = (stage: Stage) => Math.max(3 * lifeMs(stage), stage.settings.patience.eventMs);

/** A resource whose tokens live for seconds, from its exchange on. */
async function shortLived(stage: Stage, script: Script = {}) {
  await plainExchange(stage);
  const resource = await installed(stage, {
    tokenLifeSeconds: stage.settings.patience.tokenLifeSeconds,
    ...script,
  });
  const exchange = await exchangeOf(stage, resource);
  if (!exchange) throw notExchanged(stage, resource);
  /** The n-th refresh that was answered. */
  async function refresh(nth: number): Promise<Call | null> {
    const look = () =>
      stage.callsOf(resource).filter((call) => isRefresh(call) && call.endedAt !== null)[nth - 1];
    return stage.books.until(look, waitMs(stage));
  }
  return { resource, exchange, refresh };
}

const NONE = "a token has to be refreshed by itself first, and none was.";

/**
 * Throws NotJudged unless a plain refresh, watched at the same time, succeeds: special refreshes prove nothing
 * otherwise.
 */
async function refreshes(stage: Stage): Promise<void> {
  const { first, resource } = await lived(stage);
  needs(first, NONE, "TOK-01");
  const broken = isOwnToken(stage, resource, first) ? "TOK-02" : "TOK-03";
  needs(
    isDone(first),
    `a plain refresh has to succeed first, and was answered with ${shown(first.reply)}.`,
    broken,
  );
}

/** The whole life of a token and the beginning of the next one, without faults. */
const lived = probe(async (stage) => {
  const seen = await shortLived(stage);
  const first = await seen.refresh(1);
  return { ...seen, first };
});

export const tokens: RuleGroup = {
  title: "Tokens and their refresh",
  rules: [
    {
      id: "TOK-01",
      title: "An access token is refreshed before it ends",
      section: platform("States and transitions", "8 hours after issue"),
      severity: "should",
      mend: "Refresh at about half of expires_in (never more than 8 hours), without waiting for somebody to need it.",
      isPatient: true,
      follows: ["TOK-09"],
      async check(stage) {
        const { exchange, first } = await lived(stage);
        const seconds = stage.settings.patience.tokenLifeSeconds;
        holds(first, `A token that lives for ${seconds} s was not refreshed, not even after its end.`);
        const stoodStillMs = first.stoodStillMs - exchange.stoodStillMs;
        const late = first.at - exchange.endedAt! - stoodStillMs > lifeMs(stage);
        holds(!late, `A token that lives for ${seconds} s was refreshed after its end.`);
      },
    },
    {
      id: "TOK-02",
      title: "A refresh is a POST of a form with grant_type refresh_token",
      section: platform(
        "Authorization service",
        "Form-encoded: `grant_type=refresh_token`, `refresh_token`, `client_secret`",
      ),
      severity: "must",
      mend: "Send grant_type=refresh_token, refresh_token and client_secret as application/x-www-form-urlencoded.",
      isPatient: true,
      follows: ["EXCH-07"],
      async check(stage) {
        const { first, exchange, resource } = await lived(stage);
        needs(first, NONE, "TOK-01");
        const { method, form } = first;
        holds(method === "POST" && Object.keys(form).length > 0, "It was no POST of a form.");
        holds(form["grant_type"] === "refresh_token", "grant_type was missing or another.");
        holds(form["client_secret"], "The form has no client_secret.");
        const secret = stage.settings.clientSecret ?? exchange.form["client_secret"];
        holds(form["client_secret"] === secret, "client_secret is not the client secret of the platform.");
        // Who calls in one way always does so: that is reported once.
        const isUsual = isToldInAddress(exchange) && isToldInAddress(first);
        needs(!isUsual, "an exchange has to keep its members out of the address first.", "EXCH-09");
        holds(!isToldInAddress(first), "Something of it was in the address.");
        holds(
          isDone(first) || !isOwnToken(stage, resource, first),
          `The platform answered it with ${shown(first.reply)}.`,
        );
      },
    },
    {
      id: "TOK-03",
      title: "A refresh sends the resource's own refresh token",
      section: platform("Authentication", "one token pair per provisioned add-on resource"),
      severity: "must",
      mend: "Keep the refresh token with the resource it was given for, as a text of any length.",
      isPatient: true,
      follows: ["TOK-02", "TOK-09"],
      async check(stage) {
        const { first, resource } = await lived(stage);
        needs(first, NONE, "TOK-01");
        holds(isOwnToken(stage, resource, first), "refresh_token is not the one that was given.");
      },
    },
    {
      id: "TOK-04",
      title: "A token with its whole life before it is not refreshed again",
      section: assumed(3),
      severity: "should",
      mend: "After a refresh wait for half of the new expires_in; an answer of 200 is as good as one of 201.",
      isPatient: true,
      follows: ["TOK-07", "EXCH-12"],
      async check(stage) {
        const { resource, first } = await lived(stage);
        needs(first, NONE, "TOK-01");
        const areTooMany = () => {
          const calls = stage.callsOf(resource).filter((call) => isRefresh(call) && isDone(call));
          const isSoon = (call: Call, nth: number) =>
            nth > 0 && call.at - calls[nth - 1]!.endedAt! < lifeMs(stage) / 4;
          return calls.filter(isSoon).length >= MANY_REFRESHES;
        };
        holds(
          !(await stage.books.until(areTooMany, lifeMs(stage))),
          "Several refreshes came less than a quarter of a life after one that was good.",
        );
      },
    },
    {
      id: "TOK-05",
      title: "Where a refresh brings another refresh token, the next one uses it",
      section: rfc(6749, "6"),
      severity: "must",
      mend: "Store the refresh token of each answer that has one, together with its access token.",
      isPatient: true,
      follows: ["TOK-07", "EXCH-12"],
      async check(stage) {
        const { isUsed } = await replacedRefreshTokens(stage);
        holds(isUsed, "The second refresh still sent the first refresh token.");
      },
    },
    {
      id: "TOK-06",
      title: "Where a refresh brings no refresh token, the old one goes on",
      section: rfc(6749, "5.1"),
      severity: "must",
      mend: "Keep the refresh token you have where the answer has none.",
      isPatient: true,
      async check(stage) {
        const { refresh } = await shortLived(stage, {
          react: (call) => (isRefresh(call) ? { rewrite: withoutRefreshToken } : undefined),
        });
        const first = await refresh(1);
        await refreshes(stage);
        needs(first, NONE, "TOK-01");
        const second = await refresh(2);
        holds(second, "After an answer without a refresh token there was no second refresh.");
        holds(
          first.form["refresh_token"] === second.form["refresh_token"],
          "The second refresh did not send the token of the first.",
        );
      },
    },
    {
      id: "TOK-07",
      title: "While one refresh is under way, no other of that resource is begun",
      section: assumed(3),
      severity: "must",
      mend: "Let one worker hold the resource while it refreshes: each success kills the access token before it.",
      isPatient: true,
      follows: ["FAIL-04"],
      async check(stage) {
        const delayMs = Math.max(stage.settings.patience.slowMs / 2, lifeMs(stage) / 3);
        const { resource, refresh } = await shortLived(stage, {
          react: firstTimes(1, isRefresh, () => ({ delayMs })),
        });
        const first = await refresh(1);
        await refreshes(stage);
        needs(first, NONE, "TOK-01");
        const calls = stage.callsOf(resource).filter(isRefresh);
        const overlap = calls.some((one) =>
          calls.some((two) => two.at > one.at && two.at < (one.endedAt ?? Infinity)),
        );
        holds(!overlap, "A second refresh was sent while the first was waiting for its answer.");
      },
    },
    {
      id: "TOK-08",
      title: "A refresh that the platform could not serve is made again, with the same token",
      section: assumed(3),
      severity: "must",
      mend: "Take a 5xx for a passing fault: wait a little, and try again with what you have.",
      isPatient: true,
      async check(stage) {
        const reply = () => ({
          reply: jsonReply(503, { id: "service_unavailable", message: "Later, please." }),
        });
        const { resource, refresh } = await shortLived(stage, { react: firstTimes(1, isRefresh, reply) });
        const failed = await refresh(1);
        await refreshes(stage);
        needs(failed, NONE, "TOK-01");
        const good = await callOf(stage, resource, (call) => isRefresh(call) && isDone(call));
        holds(good, "After one 503 the token was never refreshed.");
        holds(
          good.form["refresh_token"] === failed.form["refresh_token"],
          "The second try sent another refresh token.",
        );
      },
    },
    {
      id: "TOK-09",
      title: "Each of several resources is refreshed with its own refresh token",
      section: platform("Authentication", "one token pair per provisioned add-on resource"),
      severity: "must",
      mend: "Take the refresh token from the row of the resource that is refreshed, never from a variable that all share.",
      isPatient: true,
      async check(stage) {
        await plainExchange(stage);
        const all = await Promise.all(Array.from({ length: SEVERAL }, () => shortLived(stage)));
        await Promise.all(all.map(({ refresh }) => refresh(1)));
        const refreshesOf = (resource: Resource) => stage.callsOf(resource).filter(isRefresh);
        const several = all.map(({ resource }) => refreshesOf(resource));
        if (several.every(({ length }) => length > 0)) return;
        // The tokens of the plain resource live for hours, so it needs no refresh.
        const isMixedUp =
          several.some((calls) => calls.some(isTooSoon(stage))) ||
          refreshesOf(await plain(stage)).length > 0 ||
          isRefreshedInVain(stage);
        holds(!isMixedUp, "Of two resources, one was refreshed twice and the other never.");
        needs(false, NONE, "TOK-01");
      },
    },
  ],
};

/** Whether a refresh came so soon after the one before it that it was meant for another resource. */
const isTooSoon =
  (stage: Stage) =>
  ({ at }: Call, index: number, all: readonly Call[]): boolean =>
    index > 0 && at - (all[index - 1]!.endedAt ?? at) < lifeMs(stage) / 4;

/** Whether a resource whose tokens live for hours, and were not refused, was refreshed more than once. */
function isRefreshedInVain({ books }: Stage): boolean {
  const counts = new Map<string, number>();
  for (const call of books.calls)
    if (call.uuid && isRefresh(call) && isDone(call)) counts.set(call.uuid, (counts.get(call.uuid) ?? 0) + 1);
  const isShort = (uuid: string) =>
    [...books.tokens.values()].some((each) => each.uuid === uuid && each.endsAt !== null);
  const isRefused = (uuid: string) =>
    books.calls.some((call) => call.uuid === uuid && call.reply?.status === 401);
  return [...counts].some(([uuid, count]) => count > 1 && !isShort(uuid) && !isRefused(uuid));
}

function isOwnToken({ books }: Stage, { uuid }: Resource, { form }: Call): boolean {
  const token = books.tokens.get(form["refresh_token"] ?? "");
  return token?.kind === "refresh" && token.uuid === uuid;
}

/** Two refreshes, of which the first brings a new refresh token. */
async function replacedRefreshTokens(stage: Stage) {
  let given = 0;
  const { resource, refresh } = await shortLived(stage, {
    disguise: (token, kind) => (kind === "access" ? token : `${token}-${++given}`),
  });
  const first = await refresh(1);
  await refreshes(stage);
  needs(first && isDone(first), NONE, "TOK-01");
  // The token as it was given in that answer: there may be newer ones by now.
  const { refresh_token: expected } = membersIn(first.reply!.text);
  const second = await refresh(2);
  if (!second) throw new Broken("After a refresh with a new refresh token there was no second one.");
  const used = stage.callsOf(resource).filter(isRefresh)[1]!.form["refresh_token"];
  return { isUsed: used === expected };
}

function withoutRefreshToken(reply: Reply): Reply {
  if (reply.status >= 300) return reply;
  const { refresh_token: _dropped, ...rest } = membersIn(reply.text);
  return jsonReply(reply.status, rest);
}
