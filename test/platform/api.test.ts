import { inspect } from "node:util";
import { Secret } from "../../src/secret.ts";
import type { Answering } from "./local-server.ts";
import { aBench, type Bench, inOrder, OTHER, UUID } from "./api-client.ts";

let open: Bench[] = [];
async function bench(...args: Parameters<typeof aBench>): Promise<Bench> {
  const opened = await aBench(...args);
  open.push(opened);
  return opened;
}
afterEach(async () => {
  for (const { close } of open) await close();
  open = [];
});

const app = { id: "a1", name: "my-app" };
const tokensOf = ({ seen }: Bench) => seen.map(({ headers }) => headers.authorization);
const rejection = (call: Promise<unknown>) => call.catch((error: unknown) => error as Error);

describe("a 401 from the API", () => {
  it("causes one renewal and one more call, whatever the method", async () => {
    const platform = await bench(inOrder(401, [{ name: "A", value: "1" }]));
    await platform.api.config.update([{ name: "A", value: "1" }]);
    expect(tokensOf(platform)).toEqual(["Bearer token-1", "Bearer token-2"]);
    expect(platform.renewed).toEqual(["token-1"]);
  });

  it("is thrown the second time", async () => {
    const platform = await bench(inOrder(401));
    await expect(platform.api.apps.list()).rejects.toMatchObject({ id: "said_401", status: 401 });
    expect(platform.seen).toHaveLength(2);
    expect(platform.renewed).toHaveLength(1);
  });

  it("causes one renewal for each call, also with another error in between", async () => {
    const platform = await bench(inOrder(401, 503, 401));
    await expect(platform.api.apps.list()).rejects.toMatchObject({ status: 401 });
    expect(tokensOf(platform)).toEqual(["Bearer token-1", "Bearer token-2", "Bearer token-2"]);
  });

  it("throws the error of a failed renewal", async () => {
    const platform = await bench(inOrder(401));
    platform.tokens.renew = () => Promise.reject(new Error("needs_reauth"));
    await expect(platform.api.apps.list()).rejects.toThrow("needs_reauth");
    expect(platform.seen).toHaveLength(1);
  });

  it("does not occur without a token, because nothing is sent", async () => {
    const platform = await bench(inOrder([]));
    platform.tokens.current = () => Promise.reject(new Error("erased"));
    await expect(platform.api.apps.list()).rejects.toThrow("erased");
    expect(platform.seen).toHaveLength(0);
  });
});

describe("an error answer of the API", () => {
  it.each([400, 402, 403, 404, 406, 409, 410, 416, 422])(
    "with %d causes no renewal and no retry",
    async (status) => {
      const platform = await bench(inOrder(status));
      await expect(platform.api.addons.own()).rejects.toMatchObject({
        name: "PlatformRefused",
        status,
        id: `said_${status}`,
      });
      expect(platform.seen).toHaveLength(1);
      expect(platform.renewed).toEqual([]);
    },
  );

  it("contains the platform's message, and nothing that we sent", async () => {
    const platform = await bench((_seen, response) =>
      response.writeHead(422, { "request-id": OTHER, "retry-after": "3" }).end(
        JSON.stringify({
          id: "invalid_params",
          message: "TEAPOT_URL: no https://u:pw@h for token-1\n",
          url: "https://docs.example/x",
        }),
      ),
    );
    const error = await rejection(
      platform.api.config.update([{ name: "TEAPOT_URL", value: "https://u:pw@h" }]),
    );
    expect(error).toMatchObject({
      id: "invalid_params",
      status: 422,
      platformRequestId: OTHER,
      retryAfterMs: 3_000,
    });
    expect(error).toMatchObject({
      message: `PATCH ${platform.url}/addons/${UUID}/config was refused with 422 invalid_params: TEAPOT_URL: no [secret] for [secret]`,
    });
    expect(inspect(error, { showHidden: true })).not.toMatch(/token-1|u:pw/);
  });

  it.each(["", "<html>no</html>", "[]", "null", '{"id":7,"message":{}}', '{"id":"two words"}'])(
    "is a typed error with the body %j",
    async (body) => {
      const platform = await bench((_seen, response) => response.writeHead(404).end(body));
      await expect(platform.api.apps.get("x")).rejects.toMatchObject({
        id: "http_404",
        status: 404,
        platformRequestId: null,
      });
    },
  );
});

describe("retries", () => {
  const dropped: Answering = (_seen, response) => response.socket?.resetAndDestroy();
  const silent: Answering = () => {};
  const tooLarge: Answering = (_seen, response) => response.end("x".repeat(1_100_000));
  const elsewhere: Answering = (_seen, response) => response.writeHead(307, { location: "/apps" }).end();

  it.each<[string, number | Answering]>([
    ["500", 500],
    ["503", 503],
    ["429", 429],
    ["a reset", dropped],
    ["a timeout", silent],
  ])("happen twice for a GET after %s, with longer pauses", async (_name, fault) => {
    const limits = fault === silent ? { timeoutMs: 500 } : {};
    const good = await bench(inOrder(fault, fault, [app]), limits);
    await expect(good.api.apps.list()).resolves.toEqual([app]);
    expect(good.slept).toEqual(fault === 429 ? [400, 600, 800, 200] : [400, 800]); // a 429 closes for a second
    const bad = await bench(inOrder(fault), limits);
    await expect(bad.api.apps.list()).rejects.toThrow();
    expect(bad.seen).toHaveLength(3);
  });

  it.each<[string, Answering]>([
    ["answer_too_large", tooLarge],
    ["redirect_refused", elsewhere],
  ])("do not happen after %s, which would recur", async (id, fault) => {
    const platform = await bench(fault);
    await expect(platform.api.apps.list()).rejects.toMatchObject({ id });
    expect(platform.seen).toHaveLength(1);
  });

  it.each<[string, number | Answering]>([
    ["500", 500],
    ["429", 429],
    ["a reset", dropped],
    ["a timeout", silent],
  ])("never happen for a call that changes something, after %s", async (_name, fault) => {
    const platform = await bench(inOrder(fault), { timeoutMs: 100 });
    const { api } = platform;
    const calls = [
      () => api.config.update([]),
      () => api.logDrains.update("d", "u"),
      () => api.logDrains.create("a", "u"),
      () => api.logDrains.remove("a", "d"),
      () => api.actions.provision(),
      () => api.apps.filter([]),
    ];
    for (const call of calls) await expect(call()).rejects.toThrow();
    expect(platform.seen).toHaveLength(calls.length);
  });

  it("use the current token after the pause", async () => {
    const platform = await bench((_seen, response) => {
      void platform.tokens.renew(new Secret("by somebody else"));
      response.writeHead(503).end();
    });
    await expect(platform.api.apps.list()).rejects.toThrow();
    expect(tokensOf(platform)).toEqual(["Bearer token-1", "Bearer token-2", "Bearer token-3"]);
  });

  it("honour Retry-After, but at most 10 s inside a call", async () => {
    const asking =
      (seconds: string): Answering =>
      (_seen, response) =>
        response.writeHead(503, { "retry-after": seconds }).end();
    const short = await bench(inOrder(asking("7"), [app]));
    await short.api.apps.list();
    expect(short.slept).toEqual([7_000]);
    const long = await bench(asking("11"));
    await expect(long.api.apps.list()).rejects.toMatchObject({ status: 503, retryAfterMs: 11_000 });
    expect(long.seen).toHaveLength(1);
  });
});

describe("list endpoints", () => {
  const pages = [[{ id: "1" }, { id: "2" }], [{ id: "3" }], [{ id: "4" }]];
  const paged: Answering = ({ headers }, response) => {
    const page = Number(headers.range?.split(" ")[1] ?? 0);
    const next = page < 2 ? { "next-range": `id ${page + 1} ..; max=2` } : {};
    response.writeHead(page < 2 ? 206 : 200, next).end(JSON.stringify(pages[page]));
  };

  it("are read to the last page, with Next-Range sent back unchanged", async () => {
    const platform = await bench(paged);
    await expect(platform.api.apps.list()).resolves.toEqual([
      { id: "1" },
      { id: "2" },
      { id: "3" },
      { id: "4" },
    ]);
    expect(platform.seen.map(({ headers }) => headers.range)).toEqual([
      undefined,
      "id 1 ..; max=2",
      "id 2 ..; max=2",
    ]);
  });

  it("are read on by POST when the first call was a POST", async () => {
    const platform = await bench(paged);
    await expect(platform.api.apps.filter([UUID])).resolves.toHaveLength(4);
    expect(new Set(platform.seen.map(({ method, body }) => method + body))).toEqual(
      new Set([`POST{"in":{"id":["${UUID}"]}}`]),
    );
  });

  it("can be read page by page, and stopped early", async () => {
    const platform = await bench(paged);
    for await (const page of platform.api.pages("/apps")) {
      expect(page).toEqual(pages[0]);
      break;
    }
    expect(platform.seen).toHaveLength(1);
  });

  it.each<[string, number, (page: number) => object]>([
    ["that never end", 100, (page) => ({ "next-range": `id ${page}` })],
    ["that lead back to themselves", 2, () => ({ "next-range": "again" })],
    ["that end in the middle", 1, () => ({})],
  ])("%s are an error after %d calls, not a shorter list", async (_, calls, more) => {
    const platform = await bench((_seen, response) =>
      response.writeHead(206, { ...more(platform.seen.length) }).end("[]"),
    );
    await expect(platform.api.apps.list()).rejects.toMatchObject({ id: "unreadable_answer" });
    expect(platform.seen).toHaveLength(calls);
  });

  it("whose attachments name no app are an error", async () => {
    const platform = await bench((_seen, response) => response.writeHead(200).end(JSON.stringify([app])));
    await expect(platform.api.attachments.ofAddon()).rejects.toMatchObject({ id: "unreadable_answer" });
  });
});

describe("a success with an unreadable body", () => {
  it.each([
    "",
    "<html>Welcome</html>",
    "null",
    "7",
    '"text"',
    '[{"id":"1"}',
    "{}",
    '{"id":7}',
    "[null]",
    "[[]]",
    '[{"id":"1"},{}]',
  ])("is a typed error without the content: %j", async (body) => {
    const platform = await bench((_seen, response) => response.end(body));
    for (const call of [platform.api.addons.own(), platform.api.apps.list(), platform.api.config.get()]) {
      const error = await rejection(call);
      expect(error).toMatchObject({ name: "UnreadableAnswer", id: "unreadable_answer", status: 200 });
      expect(error).toMatchObject({
        message: expect.stringMatching(/^GET http\S+ answered 200, but not with \w+/),
      });
    }
  });

  it("keeps unknown members, and requires only the id", async () => {
    const platform = await bench(inOrder({ id: UUID, state: "brand_new", more: [1] }));
    await expect(platform.api.addons.own()).resolves.toEqual({ id: UUID, state: "brand_new", more: [1] });
  });

  it("is a 304 that nobody asked for, even where only the status counts", async () => {
    const platform = await bench((_seen, response) => response.writeHead(304).end());
    await expect(platform.api.actions.provision()).rejects.toMatchObject({ id: "unreadable_answer" });
  });

  it("is accepted where only the status counts", async () => {
    const platform = await bench(inOrder("<html>done</html>"));
    await expect(platform.api.actions.provision()).resolves.toBeUndefined();
  });
});

describe("a raw request", () => {
  it("returns any answer unchanged", async () => {
    const platform = await bench((_seen, response) => response.writeHead(418, { "x-a": "b" }).end("<html>"));
    await expect(platform.api.request("get", "/apps?x=y")).resolves.toMatchObject({
      status: 418,
      headers: { "x-a": "b" },
      body: "<html>",
    });
    expect(platform.seen).toMatchObject([{ method: "GET", url: "/apps?x=y" }]);
  });

  it("sends the given body and headers, but keeps its own Authorization, Host and Content-Length", async () => {
    const platform = await bench((_seen, response) => response.end());
    await platform.api.request("POST", "/filters/apps", {
      body: "{}",
      headers: {
        Range: "id ..",
        Authorization: "Bearer mine",
        Host: "evil.example",
        "Content-Length": "0",
        Expect: "nothing",
        Trailer: "x-sum",
        Accept: "text/x",
      },
    });
    expect(platform.seen[0]).toMatchObject({
      body: "{}",
      headers: {
        "content-length": "2",
        range: "id ..",
        authorization: "Bearer token-1",
        host: platform.url.slice(7),
        "content-type": "application/json",
        accept: "text/x",
      },
    });
  });

  it("renews the token after a 401 like other calls", async () => {
    const platform = await bench(inOrder(401, "ok"));
    await expect(platform.api.request("GET", "/apps")).resolves.toMatchObject({ status: 200 });
    expect(platform.renewed).toEqual(["token-1"]);
  });
});
