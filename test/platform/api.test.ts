import { inspect } from "node:util";
import { createPlatformFor, type ResourceApi } from "../../src/platform/api.ts";
import { createThrottles } from "../../src/platform/client.ts";
import { type Answer, PLAYED, playedPlatform } from "../support/played-platform.ts";
import { aClient, aClock, MEDIA_TYPE, OTHER, UUID } from "./api-client.ts";
import { aServer, inOrder } from "./local-server.ts";

const app = { id: "a1", name: "my-app" };
const platform = playedPlatform();
const APPS = "GET /apps";
/** Declares the answers to one call, in this order. */
const inTurn = (call: string, ...answers: Answer[]) => {
  for (const answer of answers) platform.answers(call, answer);
};
const refusal = (status: number) => ({ status, body: { id: `said_${status}`, message: "no" } });
const later = (seconds: string) => ({ status: 503, headers: { "retry-after": seconds } });
const tokensSent = () => platform.sent.map(({ authorization }) => authorization!.slice("Bearer ".length));
const rejection = (call: Promise<unknown>) => call.catch((error: unknown) => error as Error);

describe("whether a call is tried again", () => {
  it("after a 401: once with a renewed token, whatever the method", async () => {
    const vars = [{ name: "A", value: "1" }];
    inTurn(`PATCH /addons/${UUID}/config`, refusal(401), { body: vars });
    const { api, renewed } = aClient();
    await api.config.update(vars);
    expect([tokensSent(), renewed]).toEqual([["token-1", "token-2"], ["token-1"]]);
  });

  it.each([
    ["a second 401", [401, 401], ["token-1", "token-2"]],
    ["a second 401 after another error", [401, 503, 401], ["token-1", "token-2", "token-2"]],
    ...[400, 403, 404, 409, 422].map((status): [string, number[], string[]] => [
      String(status),
      [status],
      ["token-1"],
    ]),
  ])("not after %s", async (_, statuses, tokens) => {
    inTurn(APPS, ...statuses.map(refusal));
    const { api, renewed } = aClient();
    const last = statuses.at(-1);
    const refused = { name: "PlatformRefused", status: last, id: `said_${last}` };
    await expect(api.apps.list()).rejects.toMatchObject(refused);
    expect([tokensSent(), renewed.length]).toEqual([tokens, last === 401 ? 1 : 0]);
  });

  it.each<[string, Answer, number[]]>([
    ["503", refusal(503), [400, 800]],
    ["429, which closes for a second", refusal(429), [400, 600, 800, 200]],
    ["503 with a Retry-After", later("7"), [7_000, 7_000]],
    ["no connection", { instead: "no connection" }, [400, 800]],
  ])("twice for a GET after %s, and never what changes something", async (_name, fault, pauses) => {
    inTurn(APPS, fault, fault, { body: [app] });
    const { api: good, slept } = aClient();
    await expect(good.apps.list()).resolves.toEqual([app]);
    expect(slept).toEqual(pauses);
    inTurn(APPS, fault, fault, fault);
    await expect(aClient().api.apps.list()).rejects.toThrow();

    const { api } = aClient();
    const changes: [string, () => Promise<unknown>][] = [
      [`PATCH /addons/${UUID}/config`, () => api.config.update([])],
      ["POST /apps/a/log-drains", () => api.logDrains.create("a", "u")],
      ["DELETE /apps/a/log-drains/d", () => api.logDrains.remove("a", "d")],
      ["POST /filters/apps", () => api.apps.filter([])],
    ];
    for (const [call, change] of changes) {
      platform.answers(call, fault);
      await expect(change()).rejects.toThrow();
    }
  });

  it("twice for a GET whose answer is lost, and never what may have changed something", async () => {
    const { url, seen } = await aServer((_seen, response) => response.socket?.resetAndDestroy());
    const { api } = aClient(url);
    await expect(api.apps.list()).rejects.toThrow();
    expect(seen).toHaveLength(3);
    await expect(api.config.update([])).rejects.toThrow();
    expect(seen).toHaveLength(4);
  });

  it.each<[string, Answer]>([
    ["answer_too_large", { body: "x".repeat(1_100_000) }],
    ["redirect_refused", { status: 307, headers: { location: "/apps" } }],
    ["http_503", later("11")],
  ])("not after %s: it would recur, or not be over soon", async (id, fault) => {
    platform.answers(APPS, fault);
    await expect(aClient().api.apps.list()).rejects.toMatchObject({ id });
  });
});

describe("a refusal", () => {
  it("contains the platform's message, and nothing that we sent", async () => {
    const message = "TEAPOT_URL: no https://u:pw@h for token-1\n";
    platform.answers(`PATCH /addons/${UUID}/config`, {
      status: 422,
      headers: { "request-id": OTHER, "retry-after": "3" },
      body: { id: "invalid_params", message, url: "https://docs.example/x" },
    });
    const update = aClient().api.config.update([{ name: "TEAPOT_URL", value: "https://u:pw@h" }]);
    const error = await rejection(update);
    expect(error).toMatchObject({
      ...{ id: "invalid_params", status: 422, platformRequestId: OTHER, retryAfterMs: 3_000 },
      message: `PATCH ${PLAYED.PLATFORM_API_URL}/addons/${UUID}/config was refused with 422 invalid_params: TEAPOT_URL: no [secret] for [secret]`,
    });
    expect(inspect(error, { showHidden: true })).not.toMatch(/token-1|u:pw/);
  });

  it.each(["", "<html>no</html>", "null", '{"id":7,"message":{}}', '{"id":"two words"}'])(
    "is a typed error with the body %j",
    async (body) => {
      platform.answers("GET /apps/x", { status: 404, body });
      const refused = { id: "http_404", status: 404, platformRequestId: null };
      await expect(aClient().api.apps.get("x")).rejects.toMatchObject(refused);
    },
  );
});

describe("list endpoints", () => {
  const pages = [[{ id: "1" }, { id: "2" }], [{ id: "3" }], [{ id: "4" }]];
  const rangeOf = (page: number) => `id ]${page}..; max=1,order=desc`;

  it.each<[string, object, (api: ResourceApi) => Promise<unknown>]>([
    [APPS, {}, (api) => api.apps.list()],
    ["POST /filters/apps", { in: { id: [UUID] } }, (api) => api.apps.filter([UUID])],
  ])("are read by %s to the last page, with Next-Range sent back unchanged", async (name, body, call) => {
    const [first, second, last] = pages as [object[], object[], object[]];
    inTurn(
      name,
      { status: 206, body: first, headers: { "next-range": rangeOf(1) } },
      { status: 206, body: second, headers: { "next-range": rangeOf(2) } },
      { body: last },
    );
    await expect(call(aClient().api)).resolves.toEqual(pages.flat());
    const { sent } = platform;
    expect(sent.map(({ headers }) => headers.range)).toEqual([undefined, rangeOf(1), rangeOf(2)]);
    expect(sent.map((each) => each.body)).toEqual([body, body, body]);
  });

  it.each<[string, number, (page: number) => Record<string, string>]>([
    ["that never end", 100, (page) => ({ "next-range": `id ${page}` })],
    ["that lead back to themselves", 2, () => ({ "next-range": "again" })],
    ["that end in the middle", 1, () => ({})],
  ])("%s are an error after %d calls, not a shorter list", async (_, calls, more) => {
    for (let page = 1; page <= calls; page += 1)
      platform.answers(APPS, { status: 206, body: [], headers: more(page) });
    await expect(aClient().api.apps.list()).rejects.toMatchObject({ id: "unreadable_answer" });
  });
});

describe("a success", () => {
  it.each(["", "<html>Welcome</html>", "null", "{}", '{"id":7}', "[null]", '[{"id":"1"},{}]'])(
    "with the body %j is an error that does not show it",
    async (body) => {
      const { api } = aClient();
      for (const call of [`GET /addons/${UUID}`, APPS, `GET /addons/${UUID}/config`])
        platform.answers(call, { body });
      for (const call of [api.addons.own(), api.apps.list(), api.config.get()])
        expect(await rejection(call)).toMatchObject({
          ...{ name: "UnreadableAnswer", id: "unreadable_answer" },
          message: expect.stringMatching(/^GET http\S+ answered 200, but not with \w+/),
        });
    },
  );

  it("keeps unknown members, and requires only the id", async () => {
    platform.answers(`GET /addons/${UUID}`, { body: { id: UUID, state: "brand_new", more: [1] } });
    await expect(aClient().api.addons.own()).resolves.toEqual({ id: UUID, state: "brand_new", more: [1] });
  });

  it.each([{}, { app: null }, { app: { name: "no-id" } }])(
    "that does not name the app of an attachment of the add-on is an error: %j",
    async (of) => {
      platform.answers(`GET /addons/${UUID}/addon-attachments`, {
        body: [
          { id: "1", app: { id: "a" } },
          { id: "2", ...of },
        ],
      });
      await expect(aClient().api.attachments.ofAddon()).rejects.toMatchObject({ id: "unreadable_answer" });
    },
  );

  it("may have any body where only the status counts, but is no 304", async () => {
    const { api } = aClient();
    const provisioned = `POST /addons/${UUID}/actions/provision`;
    inTurn(provisioned, { body: "<html>done</html>" }, { status: 304, body: "" });
    await expect(api.actions.provision()).resolves.toBeUndefined();
    await expect(api.actions.provision()).rejects.toMatchObject({ id: "unreadable_answer" });
  });
});

it("a raw request sends the body as JSON, renews the token after a 401, and returns any answer unchanged", async () => {
  const call = "POST /filters/apps?x=y";
  inTurn(call, refusal(401), { status: 418, headers: { "x-a": "b" }, body: "<grüß>" });
  const { api, renewed } = aClient();
  const answer = await api.request("POST", "/filters/apps?x=y", "{}");
  expect(answer).toMatchObject({ status: 418, headers: { "x-a": "b" }, body: "<grüß>" });
  const headers = { "content-length": "2", "content-type": "application/json", accept: MEDIA_TYPE };
  expect(platform.sent).toMatchObject([
    { text: "{}", headers },
    { text: "{}", headers },
  ]);
  expect(renewed).toEqual(["token-1"]);
});

/** Each key and its encoded form, written out, so that no encoder is tested with itself. */
const KEYS = [
  ["my-app", "my-app"],
  ["a+b@x.example", "a%2Bb%40x.example"],
  ["https://logs.example:8443/in?t=1&u=ä", "https%3A%2F%2Flogs.example%3A8443%2Fin%3Ft%3D1%26u%3D%C3%A4"],
  ["syslog+tls://u:p@[::1]:6514", "syslog%2Btls%3A%2F%2Fu%3Ap%40%5B%3A%3A1%5D%3A6514"],
  ["../../admin#x%2F y", "..%2F..%2Fadmin%23x%252F%20y"],
] as const;

/** On a real server, which sees each path as it was sent. */
describe("every endpoint", () => {
  const { request: _request, ...groups } = createPlatformFor({ tokensOf: () => null } as never)(UUID);
  type Method = (...keys: string[]) => Promise<unknown>;
  const methods = Object.entries(groups).flatMap(([group, calls]) =>
    Object.keys(calls).map((name) => [group, name] as const),
  );
  const methodOf = (api: ResourceApi, [group, name]: readonly [string, string]) =>
    (api as unknown as Record<string, Record<string, Method>>)[group]![name]!;

  it("encodes each name as one segment of the path, and sends the token and the version", async () => {
    const { url: apiUrl, seen } = await aServer(inOrder({ id: "x" }));
    const { api } = aClient(apiUrl);
    for (const method of methods) {
      for (const [key, segment] of KEYS) {
        await methodOf(api, method)(key, key).catch(() => undefined);
        const { url, headers } = seen.pop()!;
        const known = /^\/(addons|apps|users|teams|pipelines|pipeline-couplings|filters)(\/|$)/;
        expect(url).toMatch(known);
        expect(
          url
            .split("/")
            .slice(2)
            .filter((each) => !/^[a-z-]+$|^01234567-/.test(each) && each !== segment),
        ).toEqual([]);
        expect(headers).toMatchObject({ accept: MEDIA_TYPE, authorization: "Bearer token-1" });
      }
    }
  });

  it.each(["", ".", ".."])("refuses the key %j, and sends nothing", async (key) => {
    const { url: apiUrl, seen } = await aServer(inOrder({ id: "x" }));
    const { api } = aClient(apiUrl);
    for (const method of methods) {
      const takesKey = seen.length;
      await Promise.resolve()
        .then(() => methodOf(api, method)(key, key))
        .catch(() => undefined);
      for (const { url } of seen.slice(takesKey)) expect(url).not.toMatch(/\/\/|\/\.|\/$/);
    }
    await expect((async () => api.apps.get(key))()).rejects.toMatchObject({ id: "invalid_path" });
  });
});

const answer = (remaining?: number | string, status = 200, headers = {}) => ({
  status,
  headers: { ...(remaining !== undefined && { "ratelimit-remaining": String(remaining) }), ...headers },
  body: "",
});

/** A throttle with a clock that only `sleep` advances, and a call that is answered at once. */
function aThrottle() {
  const clock = aClock();
  const inTurn = createThrottles(clock)("a resource");
  const call = (...answered: Parameters<typeof answer>) => inTurn(async () => answer(...answered));
  return { clock, inTurn, call };
}

/** A bucket like the platform's: refilled by one per 800 ms of the clock. Counts calls that find it empty. */
function aBucket(clock: ReturnType<typeof aClock>, size: number) {
  let filledAt = clock.nowMs();
  let count = size;
  const bucket = {
    ...{ refused: 0, taken: 0 },
    take: async () => {
      const refills = Math.floor((clock.nowMs() - filledAt) / 800);
      count = Math.min(size, count + refills);
      filledAt += refills * 800;
      if (count === 0) bucket.refused += 1;
      else bucket.taken += 1;
      count = Math.max(0, count - 1);
      return answer(count);
    },
  };
  return bucket;
}

describe("the rate limit of a resource", () => {
  it("sends no call when the bucket is empty, and uses what is refilled with time", async () => {
    const { clock, inTurn } = aThrottle();
    const bucket = aBucket(clock, 5);
    for (let call = 0; call < 50; call += 1) await inTurn(bucket.take);
    expect(bucket).toMatchObject({ taken: 50, refused: 0 });
    expect(clock.slept.every((ms) => ms <= 1_000)).toBe(true);
    clock.slept.length = 0;
    await clock.sleep(5_000);
    await Promise.all(Array.from({ length: 5 }, () => inTurn(bucket.take)));
    expect(bucket).toMatchObject({ taken: 55, refused: 0 });
    expect(clock.slept).toEqual([5_000]);
  });

  type Throttled = ReturnType<typeof aThrottle>;
  const unknown = async ({ call, inTurn }: Throttled) => {
    await call(3);
    await call();
    await call("many");
    await inTurn(() => Promise.reject(new Error("x"))).catch(() => undefined);
  };
  it.each<[string, (throttle: Throttled) => Promise<unknown>, number[]]>([
    ["counts calls whose answer does not say how many are left, and calls that fail", unknown, [1_000]],
    ["waits as a 429 asks", ({ call }) => call(undefined, 429, { "retry-after": "6" }), [6_000]],
    ["is unlimited while nothing is known", ({ call }) => call("-1"), []],
  ])("%s", async (_, past, slept) => {
    const throttle = aThrottle();
    await past(throttle);
    await throttle.call(100);
    expect(throttle.clock.slept).toEqual(slept);
  });

  it("refuses a call whose turn is too far away, without sending it", async () => {
    const { call, inTurn } = aThrottle();
    await call(0, 429, { "retry-after": "1000000000" });
    let sent = 0;
    const refused = inTurn(async () => answer((sent += 1)));
    await expect(refused).rejects.toMatchObject({ id: "rate_limited", retryAfterMs: 900_000 });
    expect(sent).toBe(0);
  });

  it("is shared by all clients of a resource, and affects no other resource", async () => {
    const empty = { headers: { "ratelimit-remaining": "0" }, body: [] };
    inTurn(APPS, empty, empty, empty);
    const { api, forResource, slept } = aClient();
    await api.apps.list();
    await forResource(OTHER).apps.list();
    expect(slept).toEqual([]);
    await forResource(OTHER).apps.list();
    expect(slept).toEqual([1_000]);
  });
});
