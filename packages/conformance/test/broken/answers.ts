import type { Body } from "../../examples/service/habits.ts";
import type { Answer, Request } from "../../examples/service/types.ts";
import { usualPatience } from "../../settings.ts";
import type { Break, BrokenService } from "./break.ts";

// Faults in answers: to calls without credentials, to provisions, and to requests of unusual forms.

function credentials({ headers }: Request): { user: string; password: string } {
  const text = Buffer.from(/^Basic (.*)$/i.exec(headers.authorization ?? "")?.[1] ?? "", "base64").toString();
  const [user = "", ...rest] = text.split(":");
  return { user, password: rest.join(":") };
}

const refused = (status = 422): Answer => ({ status, body: { id: "refused", message: "No." } });

/** An answer with a changed body. */
const provisioned =
  (change: (body: Record<string, unknown>, wanted: Body) => Record<string, unknown>): Break["habits"] =>
  (good) => ({
    provisioned(uuid, plan, wanted) {
      const answer = good.provisioned(uuid, plan, wanted);
      return { ...answer, body: change(answer.body as Record<string, unknown>, wanted) };
    },
  });

const config = (change: Record<string, unknown>) =>
  provisioned((body) => ({ ...body, config: { ...(body["config"] as object), ...change } }));

/** Refuses requests that should be accepted. */
const refuses =
  (isStrange: (members: Record<string, unknown>) => boolean, answer = refused()): Break["habits"] =>
  (good) => ({ readProvision: (members) => (isStrange(members) ? answer : good.readProvision(members)) });

const expiresAt = (members: Record<string, unknown>) =>
  (members["oauth_grant"] as { expires_at?: string } | null)?.expires_at ?? "Z";
const optionsOf = (members: Record<string, unknown>) => Object.keys((members["options"] ?? {}) as object);

export const strangers: BrokenService = [
  {
    rule: "AUTH-02",
    what: "an empty password opens",
    habits: (good) => ({
      isPlatform: (settings, request) =>
        good.isPlatform(settings, request) ||
        (credentials(request).user === settings.addonId && credentials(request).password === ""),
    }),
  },
  {
    rule: "AUTH-03",
    what: "the user is not looked at",
    habits: (good) => ({
      isPlatform: (settings, request) =>
        good.isPlatform(settings, request) || credentials(request).password === settings.addonPassword,
    }),
  },
  {
    rule: "AUTH-04",
    what: "what follows the password is not looked at",
    habits: (good) => ({
      isPlatform: (settings, request) =>
        good.isPlatform(settings, request) ||
        credentials(request).password.startsWith(settings.addonPassword),
    }),
  },
  {
    rule: "AUTH-05",
    what: "a malformed header is a bad request",
    habits: (good) => ({
      unauthorized: (request, isKnown) =>
        /^(Basic [A-Za-z0-9+/]+=*)?$/i.test(request.headers.authorization ?? "")
          ? good.unauthorized(request, isKnown)
          : refused(400),
    }),
  },
  {
    rule: "AUTH-06",
    what: "anybody may deprovision",
    habits: (good) => ({
      isPlatform: (settings, request) =>
        good.isPlatform(settings, request) ||
        (request.method === "DELETE" && request.headers.authorization === undefined),
    }),
  },
  {
    rule: "AUTH-07",
    what: "a stranger is told which uuid is known",
    habits: (good) => ({
      unauthorized: (request, isKnown) => {
        const answer = good.unauthorized(request, isKnown);
        return isKnown ? { ...answer, body: { id: "unauthorized", message: "This is not yours." } } : answer;
      },
    }),
  },
  {
    rule: "AUTH-08",
    what: "the body is parsed first",
    habits: (good) => ({
      unauthorized: (request, isKnown) =>
        request.text.includes("broken") ? refused(400) : good.unauthorized(request, isKnown),
    }),
  },
  {
    rule: "AUTH-10",
    what: "a 401 without a challenge",
    habits: (good) => ({
      unauthorized: (request, isKnown) => ({ ...good.unauthorized(request, isKnown), headers: {} }),
    }),
  },
  {
    rule: "AUTH-11",
    what: "the scheme is Basic, never basic",
    habits: (good) => ({
      isPlatform: (settings, request) =>
        !request.headers.authorization?.startsWith("basic") && good.isPlatform(settings, request),
    }),
  },
];

export const openDoor: BrokenService = [
  {
    rule: "AUTH-01",
    what: "no credentials are as good as the right ones",
    habits: (good) => ({
      isPlatform: (settings, request) => !request.headers.authorization || good.isPlatform(settings, request),
    }),
  },
  {
    rule: "AUTH-04",
    what: "capital letters are as good as small ones",
    habits: (good) => ({
      isPlatform: (settings, request) =>
        good.isPlatform(settings, request) ||
        (credentials(request).user === settings.addonId &&
          credentials(request).password.toLowerCase() === settings.addonPassword),
    }),
  },
  {
    rule: "EXCH-01",
    what: "no grant is ever exchanged",
    habits: () => ({
      waitMs: () => null,
      secretOf: () => "",
      request: () => ({ url: "http://127.0.0.1:9", init: {} }),
    }),
  },
];

export const created: BrokenService = [
  {
    rule: "PROV-01",
    what: "a provision is answered with 201",
    habits: (good) => ({ provisioned: (...args) => ({ ...good.provisioned(...args), status: 201 }) }),
  },
];

export const oddAnswers: BrokenService = [
  {
    rule: "PROV-02",
    what: "the answer is called text",
    habits: (good) => ({
      provisioned: (...args) => ({ ...good.provisioned(...args), headers: { "content-type": "text/plain" } }),
    }),
  },
  {
    rule: "PROV-03",
    what: "the answer has no id",
    habits: provisioned((body) => ({ ...body, id: undefined })),
  },
  { rule: "PROV-04", what: "a config var is a number", habits: config({ EXAMPLE_URL: 7 }) },
  { rule: "PROV-05", what: "a config var has a hyphen", habits: config({ "EXAMPLE-URL": "x" }) },
  { rule: "PROV-06", what: "a config var is not declared", habits: config({ EXAMPLE_MORE: "x" }) },
  {
    rule: "PROV-07",
    what: "the message is a list",
    habits: provisioned((body) => ({ ...body, message: [] })),
  },
  { rule: "PROV-09", what: "every plan is sold", habits: () => ({ sells: () => true }) },
  { rule: "PROV-10", what: "capital letters make another uuid", habits: () => ({ uuidOf: (path) => path }) },
  {
    rule: "SECR-02",
    what: "the grant's code is sent back",
    habits: provisioned((body, { code }) => ({ ...body, received: { code } })),
  },
];

export const strictReader: BrokenService = [
  { rule: "REQ-01", what: "unknown members are refused", habits: refuses((members) => "version" in members) },
  {
    rule: "REQ-02",
    what: "unknown options are refused",
    habits: refuses((members) => optionsOf(members).includes("no_such_option")),
  },
  { rule: "REQ-03", what: "a region is demanded", habits: refuses((members) => !members["region"]) },
  { rule: "REQ-04", what: "a grant is demanded", habits: refuses((members) => !members["oauth_grant"]) },
  {
    rule: "REQ-05",
    what: "a colon in the offset is not understood",
    habits: refuses((members) => expiresAt(members).endsWith("+00:00")),
  },
  {
    rule: "REQ-06",
    what: "a strange time is refused",
    habits: refuses((members) => expiresAt(members) === "soon"),
  },
  {
    rule: "REQ-07",
    what: "another Accept is refused",
    habits: (good) => ({
      read: (request) => (/version=4/.test(request.headers.accept ?? "") ? refused(406) : good.read(request)),
    }),
  },
  {
    rule: "REQ-08",
    what: "only application/json is JSON",
    habits: (good) => ({
      read: (request) =>
        request.headers["content-type"] === "application/json" ? good.read(request) : refused(415),
    }),
  },
  {
    rule: "REQ-09",
    what: "names are in ASCII",
    habits: refuses((members) => /[^\u0000-\u007f]/.test(String(members["name"]))), // eslint-disable-line no-control-regex
  },
  {
    rule: "REQ-10",
    what: "16 kB are too much",
    habits: (good) => ({
      read: (request) => (request.text.length > 16_000 ? refused(413) : good.read(request)),
    }),
  },
  {
    rule: "REQ-11",
    what: "broken JSON is accepted",
    habits: (good) => ({
      read: (request) => (request.text === '{"uuid": ' ? { status: 200, body: {} } : good.read(request)),
    }),
  },
  {
    rule: "REQ-12",
    what: "without a plan it is the first one",
    habits: (good) => ({
      readProvision: (members) => good.readProvision({ plan: "basic", ...defined(members) }),
    }),
  },
  {
    rule: "REQ-13",
    what: "a uuid can be anything",
    habits: (good) => ({
      readProvision: (members) =>
        members["uuid"] === "../../admin"
          ? { uuid: "../../admin", plan: "basic", code: null }
          : good.readProvision(members),
    }),
  },
  {
    rule: "REQ-14",
    what: "NUL makes it fall over",
    habits: refuses((members) => String(members["name"]).includes("\u0000"), refused(500)),
  },
];

function defined(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** Takes the grant for expired and never sends its code. */
const drops =
  (isOver: (expiresAt: string) => boolean): Break["habits"] =>
  (good) => ({
    readProvision(members) {
      const wanted = good.readProvision(members);
      return "status" in wanted || !isOver(expiresAt(members)) ? wanted : { ...wanted, code: null };
    },
  });

export const narrowReader: BrokenService = [
  {
    rule: "REQ-05",
    what: "a grant that ends in another zone is over at once",
    habits: drops((text) => new Date(`${text.slice(0, 19)}Z`).getTime() < Date.now()),
  },
  {
    rule: "REQ-04",
    what: "a grant may be null, but not absent",
    habits: refuses((members) => !("oauth_grant" in members)),
  },
  {
    rule: "PROV-10",
    what: "capital letters are no uuid's",
    habits: (good) => ({
      read: (request) => (/[A-F]/.test(request.path) ? refused() : good.read(request)),
    }),
  },
  {
    rule: "AUTH-09",
    what: "who is refused gets a resource all the same, which does not change before its exchange",
    also: ["PLAN-08"],
    habits: (good) => ({
      worksForStrangers: () => true,
      changed: (resource, plan) => (resource.accessToken ? good.changed(resource, plan) : refused(409)),
    }),
  },
];

export const loose: BrokenService = [
  {
    rule: "AUTH-06",
    what: "any password is good for a plan change and a deprovision",
    habits: (good) => ({
      isPlatform: (settings, request) =>
        good.isPlatform(settings, request) ||
        (request.method !== "POST" && credentials(request).user === settings.addonId),
    }),
  },
  {
    rule: "AUTH-09",
    what: "who is refused has deprovisioned all the same",
    habits: () => ({ worksForStrangers: ({ method }) => method === "DELETE" }),
  },
  {
    rule: "REQ-05",
    what: "a grant that ends in Z or with a colon is never exchanged",
    habits: drops((text) => /Z$|\+00:00$/.test(text)),
  },
  {
    rule: "REQ-06",
    what: "a grant whose end cannot be read is never exchanged",
    habits: drops((text) => text === "soon"),
  },
  {
    rule: "REQ-15",
    what: "5 MB are accepted",
    habits: (good) => ({
      read: (request) =>
        request.text.length > 64 * 1024
          ? (JSON.parse(request.text) as Record<string, unknown>)
          : good.read(request),
    }),
  },
  {
    rule: "IDEM-01",
    what: "what is there is a conflict",
    habits: () => ({ again: () => refused(409) }),
  },
  {
    rule: "ERR-01",
    what: "an unknown plan is refused without a message",
    habits: (good) => ({
      unknownPlan: (method) =>
        method === "POST" ? { status: 422, body: { error: "plan" } } : good.unknownPlan(method),
    }),
  },
  {
    rule: "ERR-02",
    what: "a 404 has another shape",
    habits: (good) => ({
      unknown: (method, uuid) =>
        method === "DELETE" ? { status: 404, body: { error: "none" } } : good.unknown(method, uuid),
    }),
  },
  {
    rule: "ERR-03",
    what: "a refusal shows a stack",
    habits: (good) => ({
      unknown: (method, uuid) =>
        method === "PUT"
          ? { status: 404, body: { id: "x", message: "Error\n    at find (/srv/app/store.js:7:1)" } }
          : good.unknown(method, uuid),
    }),
  },
  {
    rule: "SECR-01",
    what: "the password stands in a header",
    habits: () => ({ headers: { "x-debug": "the-password-of-tests" } }),
  },
  {
    rule: "SECR-04",
    what: "the framework names itself",
    habits: (good) => ({ headers: { ...good.headers, "x-powered-by": "Example" } }),
  },
  {
    rule: "HTTP-01",
    what: "a length is demanded",
    habits: (good) => ({
      read: (request) => (request.headers["content-length"] ? good.read(request) : refused(411)),
    }),
  },
  {
    rule: "HTTP-03",
    what: "each answer closes its connection",
    habits: (good) => ({ headers: { ...good.headers, connection: "close" } }),
  },
  {
    rule: "HTTP-04",
    what: "every method is welcome",
    habits: () => ({ otherMethod: () => ({ status: 200, body: {} }) }),
  },
];

export const nearMisses: BrokenService = [
  {
    rule: "AUTH-03",
    what: "what follows the user's name is not looked at",
    habits: (good) => ({
      isPlatform: (settings, request) =>
        good.isPlatform(settings, request) ||
        (credentials(request).user.startsWith(settings.addonId) &&
          credentials(request).password === settings.addonPassword),
    }),
  },
  {
    rule: "REQ-07",
    what: "only who accepts JSON by name is served",
    habits: (good) => ({
      read: (request) => (/json/.test(request.headers.accept ?? "") ? good.read(request) : refused(406)),
    }),
  },
  {
    rule: "PROV-10",
    what: "a uuid is kept in the case it comes in",
    habits: (good) => ({
      readProvision(members) {
        const wanted = good.readProvision(members);
        return "status" in wanted ? wanted : { ...wanted, uuid: String(members["uuid"]) };
      },
    }),
  },
  {
    rule: "REQ-14",
    what: "NUL in a plan change makes it fall over",
    habits: (good) => ({
      read: (request) =>
        request.method === "PUT" && request.text.includes("\\u0000") ? refused(500) : good.read(request),
    }),
  },
];

export const chunkedEnd: BrokenService = [
  {
    rule: "HTTP-06",
    what: "a 204 promises chunks",
    alone: true,
    habits: (good) => ({
      deprovisioned: (resource) => ({
        ...good.deprovisioned(resource),
        headers: { "transfer-encoding": "chunked" },
      }),
    }),
  },
];

export const userInAnyCase: BrokenService = [
  {
    rule: "AUTH-03",
    what: "the user's name is good in capital letters too",
    alone: true,
    habits: (good) => ({
      isPlatform: (settings, request) =>
        good.isPlatform(settings, request) ||
        (credentials(request).user.toLowerCase() === settings.addonId &&
          credentials(request).password === settings.addonPassword),
    }),
  },
];

export const eager: BrokenService = [
  {
    rule: "SECR-01",
    what: "a refusal shows the headers that came",
    habits: (good) => ({
      read: ({ headers, ...request }) =>
        request.text === "{"
          ? { status: 400, body: { id: "bad_request", message: JSON.stringify(headers) } }
          : good.read({ headers, ...request }),
    }),
  },
  {
    rule: "AUTH-09",
    what: "who is refused gets a resource all the same",
    habits: () => ({ worksForStrangers: () => true }),
  },
  {
    rule: "ERR-04",
    what: "a scheme in small letters makes it fall over",
    habits: (good) => {
      const isSmall = ({ headers }: Request) => headers.authorization?.startsWith("basic ") ?? false;
      return {
        isPlatform: (settings, request) => !isSmall(request) && good.isPlatform(settings, request),
        unauthorized: (request, isKnown) =>
          isSmall(request) ? refused(500) : good.unauthorized(request, isKnown),
      };
    },
  },
  {
    rule: "SECR-04",
    what: "the server tells its version",
    habits: (good) => ({ headers: { ...good.headers, server: "Example/3.11" } }),
  },
  {
    rule: "HTTP-06",
    what: "a 204 promises a body",
    habits: (good) => ({
      deprovisioned: (resource) => ({
        ...good.deprovisioned(resource),
        headers: { "content-length": "2" },
      }),
    }),
  },
];

export const hurriedReader: BrokenService = [
  {
    rule: "HTTP-02",
    what: "a body has to come within a moment",
    alone: true,
    habits: () => ({ bodyWithinMs: 300 }),
  },
];

export const overrun: BrokenService = [
  {
    rule: "HTTP-05",
    what: "the ninth provision of five seconds is too much",
    alone: true,
    habits(good) {
      const times: number[] = [];
      return {
        read(request) {
          times.push(performance.now());
          const many = times.filter((time) => times.at(-1)! - time < 5_000).length > 8;
          return many ? refused(429) : good.read(request);
        },
      };
    },
  },
];

export const thorough: BrokenService = [
  {
    rule: "PROV-08",
    what: "all the work is done before the answer",
    alone: true,
    patience: { promisedMs: usualPatience.promisedMs },
    habits: () => ({ answerTakesMs: ({ method }) => (method === "POST" ? 3_200 : 0) }),
  },
];

export const otherClock: BrokenService = [
  {
    rule: "REQ-05",
    what: "a grant's end without a colon in the offset cannot be read, and the grant is dropped",
    habits: (good) => ({
      readProvision(members) {
        const wanted = good.readProvision(members);
        return /[+-]\d{4}$/.test(expiresAt(members)) ? { ...wanted, code: null } : wanted;
      },
    }),
  },
];
