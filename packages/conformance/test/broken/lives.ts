import { createHash } from "node:crypto";
import type { Answer } from "../../examples/service/types.ts";
import type { BrokenService } from "./break.ts";

// Faults in the life of a resource: repeated provision, plan change, deprovision and calls after it; and in the sign-on
// to its page.

const refused = (status = 422): Answer => ({ status, body: { id: "refused", message: "No." } });

export const forgetful: BrokenService = [
  {
    rule: "IDEM-02",
    what: "each answer is a new one",
    habits(good) {
      let count = 0;
      return {
        again: (resource, wanted) => {
          const { body, ...answer } = good.again(resource, wanted);
          return { ...answer, body: { ...body, attempt: (count += 1) } };
        },
      };
    },
  },
  {
    rule: "PLAN-02",
    what: "a changed config var is a number",
    habits: () => ({ changed: () => ({ status: 200, body: { config: { EXAMPLE_URL: 7 } } }) }),
  },
  {
    rule: "PLAN-03",
    what: "the plan it has cannot be changed to",
    habits: (good) => ({
      changed: (resource, plan) => (resource.plan === plan ? refused() : good.changed(resource, plan)),
    }),
  },
  {
    rule: "PLAN-04",
    what: "every plan can be changed to",
    habits: () => ({ changesTo: (plan) => typeof plan === "string" }),
  },
  {
    rule: "PLAN-05",
    what: "an unknown resource cannot change",
    habits: (good) => ({
      unknown: (method, uuid) => (method === "PUT" ? refused() : good.unknown(method, uuid)),
    }),
  },
  {
    rule: "PLAN-07",
    what: "unknown members are refused in a plan change",
    habits: (good) => ({
      read: (request) =>
        request.method === "PUT" && request.text.includes("from_tomorrow") ? refused() : good.read(request),
    }),
  },
  {
    rule: "PLAN-08",
    what: "without tokens nothing changes",
    habits: (good) => ({
      changed: (resource, plan) => (resource.accessToken ? good.changed(resource, plan) : refused(409)),
    }),
  },
  {
    rule: "DEPR-01",
    what: "a deprovision is answered with 200",
    habits: (good) => ({
      deprovisioned: (resource) =>
        resource.accessToken ? { status: 200, body: {} } : good.deprovisioned(resource),
    }),
  },
  {
    rule: "TOMB-01",
    what: "a provision of what is gone succeeds",
    habits: (good) => ({
      gone: (method) => (method === "POST" ? { status: 200, body: { id: "again" } } : good.gone(method)),
    }),
  },
];

export const particular: BrokenService = [
  {
    rule: "IDEM-03",
    what: "another plan is a conflict",
    habits: (good) => ({
      again: (resource, wanted) =>
        wanted.plan !== resource.plan && resource.plan === "basic"
          ? refused(409)
          : good.again(resource, wanted),
    }),
  },
  {
    rule: "IDEM-04",
    what: "who comes second at the same moment is refused",
    habits: (good) => ({
      answerTakesMs: ({ method }) => (method === "POST" ? 100 : 0),
      again: (resource, wanted) => (resource.isAnswered ? good.again(resource, wanted) : refused(409)),
    }),
  },
  {
    rule: "IDEM-05",
    what: "a repeated provision is exchanged again",
    habits: () => ({ exchangesRepeated: true }),
  },
  {
    rule: "IDEM-07",
    what: "a new code is a conflict",
    habits: (good) => ({
      again: (resource, wanted) =>
        resource.code !== null && wanted.code !== resource.code ? refused(409) : good.again(resource, wanted),
    }),
  },
  {
    rule: "PLAN-06",
    what: "without a plan it stays as it is",
    habits: (good) => ({ planOf: (members) => good.planOf(members) ?? "basic" }),
  },
  {
    rule: "PLAN-02",
    what: "a config var of the new plan is not declared",
    habits: () => ({ changed: () => ({ status: 200, body: { config: { EXAMPLE_MORE: "x" } } }) }),
  },
  {
    rule: "PLAN-02",
    what: "a plan change is answered with a list",
    habits: () => ({ changed: () => ({ status: 200, body: [] }) }),
  },
  {
    rule: "DEPR-02",
    what: "what never was can be deprovisioned",
    habits: (good) => ({
      unknown: (method, uuid) =>
        method === "DELETE" && uuid.length === 36 ? { status: 204 } : good.unknown(method, uuid),
    }),
  },
  {
    rule: "DEPR-03",
    what: "what is no uuid is a bad request",
    habits: (good) => ({
      unknown: (method, uuid) => (uuid === "not-a-uuid" ? refused(400) : good.unknown(method, uuid)),
    }),
  },
  {
    rule: "DEPR-05",
    what: "the exchange goes on without its resource",
    habits: (good) => ({
      stopsExchanging: false,
      // Often enough that a try falls into the watched time, however late that begins on a busy machine.
      waitMs: (tries, status, retryAfter, kind) =>
        good.waitMs(
          kind === "exchange" && retryAfter === null ? Math.min(tries, 1) : tries,
          status,
          retryAfter,
          kind,
        ),
    }),
  },
  {
    rule: "DEPR-06",
    what: "the refreshes go on without their resource",
    habits: () => ({ stopsRefreshing: false }),
  },
  {
    rule: "TOMB-02",
    what: "the plan of what is gone can be changed",
    habits: (good) => ({
      gone: (method) => (method === "PUT" ? { status: 200, body: {} } : good.gone(method)),
    }),
  },
  {
    rule: "TOMB-03",
    what: "what is gone can be deprovisioned",
    habits: (good) => ({ gone: (method) => (method === "DELETE" ? { status: 204 } : good.gone(method)) }),
  },
];

export const clinging: BrokenService = [
  {
    rule: "IDEM-07",
    what: "a new code brings another answer",
    habits: (good) => ({
      again(resource, wanted) {
        const { body, ...answer } = good.again(resource, wanted);
        const isOther = resource.code !== null && wanted.code !== resource.code;
        return { ...answer, body: { ...body, ...(isOther && { message: "Another code." }) } };
      },
    }),
  },
  {
    rule: "PLAN-01",
    what: "no plan can be changed",
    habits: (good) => ({
      changed: (resource, plan) => (resource.plan === plan ? good.changed(resource, plan) : refused(409)),
    }),
  },
  {
    rule: "DEPR-04",
    what: "what has no tokens cannot go",
    habits: (good) => ({
      deprovisioned: (resource) =>
        resource.accessToken === null && resource.plan !== "slow"
          ? refused(409)
          : good.deprovisioned(resource),
    }),
  },
  {
    rule: "DEPR-07",
    what: "what is still being made cannot go",
    habits: (good) => ({
      deprovisioned: (resource) =>
        resource.accessToken === null && resource.plan === "slow"
          ? refused(409)
          : good.deprovisioned(resource),
    }),
  },
  {
    rule: "TOMB-05",
    what: "what is gone is not told from what never was",
    habits: () => ({ gone: () => refused(404) }),
  },
  {
    rule: "TOMB-04",
    what: "a late provision is exchanged",
    habits: () => ({ exchangesForTheGone: true }),
  },
  {
    rule: "SSO-03",
    what: "the user-scoped token is not looked at",
    habits: (good) => ({ isUserToken: good.isResourceToken }),
  },
  { rule: "SSO-04", what: "a form never gets old", habits: () => ({ isOld: () => false }) },
  { rule: "SSO-06", what: "a form can be used twice", habits: () => ({ refusesReplays: false }) },
  { rule: "SSO-09", what: "what is gone can be entered", habits: () => ({ opensWhatIsGone: true }) },
  {
    rule: "SSO-10",
    what: "scripts can read the cookie",
    habits: (good) => ({
      welcome(uuid, session) {
        const { headers, ...answer } = good.welcome(uuid, session);
        return { ...answer, headers: { ...headers, "set-cookie": `session=${session}` } };
      },
    }),
  },
];

export const immovable: BrokenService = [
  {
    rule: "IDEM-03",
    what: "another region is a conflict",
    habits(good) {
      let isElsewhere = false;
      return {
        read(request) {
          isElsewhere = request.text.includes("another-region");
          return good.read(request);
        },
        again: (resource, wanted) => (isElsewhere ? refused(409) : good.again(resource, wanted)),
      };
    },
  },
  {
    rule: "PLAN-03",
    what: "what was provisioned later stays as it is",
    habits: (good) => ({
      changed: (resource, plan) =>
        resource.answer.status === 202 ? refused(409) : good.changed(resource, plan),
    }),
  },
];

export const keeping: BrokenService = [
  {
    rule: "PLAN-09",
    what: "a provision with the plan of before is a conflict",
    habits: (good) => ({
      again: (resource, wanted) =>
        resource.plan === "premium" && wanted.plan === "basic" ? refused(409) : good.again(resource, wanted),
    }),
  },
  {
    rule: "PLAN-10",
    what: "a config var is lost in a change",
    habits: () => ({
      changed: () => ({ status: 200, body: { config: { EXAMPLE_URL: "https://example.com" } } }),
    }),
  },
  {
    rule: "DEPR-08",
    what: "tokens that arrive after the end are kept",
    habits: () => ({ keepsLateTokens: true }),
  },
];

export const revived: BrokenService = [
  {
    rule: "DEPR-08",
    what: "tokens that arrive after the end bring the resource back",
    habits: () => ({ keepsLateTokens: true, tokensRevive: true, storesAfterMs: 100 }),
  },
];

export const timeless: BrokenService = [
  {
    rule: "SSO-04",
    what: "the time of a form is not looked at",
    habits: () => ({ isOld: () => false, isAhead: () => false }),
  },
  {
    rule: "TOMB-03",
    what: "the service falls over at what is gone",
    habits: (good) => ({
      gone: (method) =>
        method === "DELETE" ? { status: 500, body: { id: "internal", message: "Oh." } } : good.gone(method),
    }),
  },
];

export const unstoppable: BrokenService = [
  { rule: "SSO-05", what: "a form may come from the future", habits: () => ({ isAhead: () => false }) },
  {
    rule: "DEPR-06",
    what: "the end of a provision is told on and on without its resource",
    habits: () => ({ stopsFinishing: false }),
  },
  {
    rule: "SSO-12",
    what: "who signed on before sees the page of what is gone",
    habits: () => ({ showsWhatIsGone: true }),
  },
];

export const hopeful: BrokenService = [
  {
    rule: "TOMB-04",
    what: "a late provision is exchanged once, and no more when that fails",
    alone: true,
    habits: (good) => ({
      exchangesForTheGone: true,
      waitMs: (tries, status, retryAfter, kind) =>
        kind === "exchange" && status === 400 ? null : good.waitMs(tries, status, retryAfter, kind),
    }),
  },
];

export const trusting: BrokenService = [
  {
    rule: "SSO-02",
    what: "any token will do",
    habits: () => ({ isUserToken: () => true, isResourceToken: () => true }),
  },
];

export const shutDoor: BrokenService = [
  {
    rule: "SSO-01",
    what: "who signs on gets a page instead of a redirect",
    habits: (good) => ({ welcome: (...args) => ({ ...good.welcome(...args), status: 200 }) }),
  },
];

export const noSession: BrokenService = [
  {
    rule: "SSO-01",
    what: "no cookie is set, and the page asks for one",
    habits: () => ({ welcome: (uuid) => ({ status: 303, headers: { location: `/customer/${uuid}` } }) }),
  },
];

export const brokenPage: BrokenService = [
  {
    rule: "SSO-01",
    what: "the page falls over",
    habits: () => ({ page: () => ({ status: 500, page: "Oh." }) }),
  },
];

export const tellingPage: BrokenService = [
  {
    rule: "SECR-01",
    what: "the page shows the client secret",
    habits: (good) => ({
      page: (uuid) => ({ ...good.page(uuid), page: `${good.page(uuid).page} a-secret&amp;of+tests%=` }),
    }),
  },
  { rule: "SSO-11", what: "who knows the page's address sees it", habits: () => ({ shows: () => true }) },
];

export const noPage: BrokenService = [
  {
    rule: "SSO-11",
    what: "the page is not there",
    habits: (good) => ({
      welcome(uuid, session) {
        const { headers, ...answer } = good.welcome(uuid, session);
        return { ...answer, headers: { ...headers, location: "/welcome" } };
      },
    }),
  },
];

export const guessing: BrokenService = [
  {
    rule: "SSO-02",
    what: "of a token the first characters are looked at alone",
    habits: () => ({
      isUserToken({ user_scoped_resource_token: token = "", ...form }, salt) {
        const { resource_id: uuid, timestamp, user_id: user, email } = form;
        const signed = [uuid, salt, timestamp, user, email].join(":");
        return createHash("sha256").update(signed).digest("hex").startsWith(token.slice(0, 8));
      },
    }),
  },
];

export const masterKeys: BrokenService = [
  {
    rule: "SSO-07",
    what: "a token of one resource opens every other",
    habits(good) {
      const uuids = new Set<string>();
      return {
        provisioned(uuid, plan, wanted) {
          uuids.add(uuid);
          return good.provisioned(uuid, plan, wanted);
        },
        isUserToken: (form, salt) =>
          [...uuids].some((uuid) => good.isUserToken({ ...form, resource_id: uuid }, salt)),
      };
    },
  },
  {
    rule: "SSO-08",
    what: "a form without any token is not looked at",
    habits: (good) => ({
      isResourceToken: (form, salt) =>
        form["resource_token"] === undefined || good.isResourceToken(form, salt),
    }),
  },
];
