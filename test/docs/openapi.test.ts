import { Validator } from "@seriousme/openapi-schema-validator";
import { parse } from "yaml";
import type { createControl } from "../../packages/sandbox/control/control.ts";
import { controlRoutes } from "../../packages/sandbox/control/routes.ts";
import { startSandbox } from "../../packages/sandbox/index.ts";
import { aPartner } from "../../packages/sandbox/test/partner.ts";
import { eventually } from "../support/eventually.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { described, read } from "../support/openapi.ts";
import { basic } from "../support/partner-calls.ts";
import { opened } from "../support/world.ts";

// The OpenAPI descriptions, held to what the service and the sandbox do.

const PARTNER = "docs/openapi/partner.yaml";
const PLATFORM = "packages/sandbox/partner-api.yaml";
const CONTROL = "packages/sandbox/control-api.yaml";

const partner = described(PARTNER);
const control = described(CONTROL);

const SSO_SALT = "a-salt-of-the-sign-on";
const life = opened(() => aLifecycle({ sandbox: { ssoSalt: SSO_SALT }, environment: { SSO_SALT } }));

it.each([PARTNER, CONTROL, PLATFORM])("%s is valid OpenAPI", async (file) => {
  expect(await new Validator().validate(parse(read(file)) as Record<string, unknown>)).toEqual({
    valid: true,
  });
});

it.each([PARTNER, CONTROL, PLATFORM])(
  "%s gives each operation an id, a tag, its refusals, and examples that fit",
  (file) => {
    expect(described(file).lacks()).toEqual([]);
  },
);

describe("packages/sandbox/control-api.yaml", () => {
  /** Makes a call of the control side as described, and returns its answer. */
  async function call<Answer = unknown>(method: string, path: string, body?: object): Promise<Answer> {
    expect([path, control.request(method, path, body ?? {})]).toEqual([path, []]);
    const sent = { method, ...(body && { body: JSON.stringify(body) }) };
    const response = await fetch(life.world.sandbox.url + path, sent);
    const answer = (await response.json()) as Answer;
    expect([method, path, response.status, control.answer(method, path, response.status, answer)]).toEqual([
      ...[method, path, expect.any(Number), []],
    ]);
    return answer;
  }

  it("has every call that the sandbox has, and no other", () => {
    type Layer = { route?: { path: string; methods: object } };
    const { stack } = controlRoutes({} as ReturnType<typeof createControl>) as unknown as { stack: Layer[] };
    const calls = stack.flatMap(({ route }) =>
      Object.keys(route?.methods ?? {}).map(
        (method) => `${method.toUpperCase()} /sandbox${route!.path.replace(/:(\w+)/g, "{$1}")}`,
      ),
    );
    expect(control.operations().sort()).toEqual(calls.sort());
  });

  it("says of every call what it takes and what it answers", async () => {
    await call("GET", "/sandbox/health");
    const app = await call<{ id: string }>("POST", "/sandbox/apps", { name: "tea", generation: "newer" });
    await call("PATCH", `/sandbox/apps/${app.id}`, { name: "teas" });
    await call("GET", "/sandbox/apps/teas");
    await call("POST", "/sandbox/apps/teas/deploys");
    const pot = { plan: "basic", as: "POT" };
    const { addon } = await call<{ addon: { id: string } }>("POST", "/sandbox/apps/teas/addons", pot);
    await life.world.quiet([addon.id]);
    await call("POST", "/sandbox/apps/teas/addons", { silent: true });
    const at = `/sandbox/addons/${addon.id}`;
    await call("GET", at);
    await call("GET", "/sandbox/apps/teas/config-vars");
    await call("POST", `${at}/redeliver`, { newCode: true });
    await call("PATCH", at, { plan: "premium" });
    await call("POST", "/sandbox/apps", { name: "cups" });
    await call("POST", `${at}/attachments`, { app: "cups", name: "POT" });
    await call("POST", `${at}/sso`, { form: true });
    await call("POST", `${at}/sso`, { user: "a@example.com" });
    await call("POST", "/sandbox/users/a@example.com/token", { scope: ["global"] });
    const address = "http://localhost/back";
    const wish = { name: "c", redirect_uri: address };
    const client = await call<{ id: string }>("POST", "/sandbox/clients", wish);
    const url = `/oauth/authorize?client_id=${client.id}&response_type=code&scope=identity&state=s`;
    await call("POST", "/sandbox/authorize", { url });
    await call("POST", "/sandbox/clock", { advance: 1 });
    const action = { delayMs: 1, duplicate: true };
    await call("POST", "/sandbox/faults", { match: "GET /nowhere", times: 2, action });
    await call("GET", "/sandbox/faults");
    await call("DELETE", "/sandbox/faults");
    const slow = { title: "Slow", systems: ["Apps"] };
    const incident = await call<{ id: number }>("POST", "/sandbox/incidents", slow);
    await call("PATCH", `/sandbox/incidents/${incident.id}`, { resolved: true });
    await call("POST", "/sandbox/settings", { expiresIn: 28_800 });
    await call("PUT", "/sandbox/partner", { addonId: life.world.sandbox.settings.addonId });
    await call("GET", "/sandbox/state");
    await call("GET", "/sandbox/ledger?since=0&reveal=1");
    await call("GET", "/sandbox/addons/none");
    await call("POST", `${at}/revoke`, { token: "access" });
    await call("POST", "/sandbox/client-secret/reset");
    await call("DELETE", at);
    await call("DELETE", "/sandbox/apps/cups");
    await call("POST", "/sandbox/reset");
    expect([...control.seen].sort()).toEqual(control.operations().sort());
  });

  it("says of every call how it is refused, and no more", async () => {
    const TOKEN = "a-token-of-this-test";
    const partner = await aPartner();
    const addonManifest = { id: "cups", plans: [{ name: "basic" }, { name: "premium" }] };
    const settings = { token: TOKEN, addonManifest, partnerUrl: partner.url, ssoSalt: SSO_SALT };
    const { url, control: of, close } = await startSandbox(settings);
    const send = async (method: string, path: string, body?: string, headers: object = {}) => {
      const sent = { method, headers: { authorization: `Bearer ${TOKEN}`, ...headers }, body: body ?? null };
      const response = await fetch(url + path, sent);
      const { status } = response;
      const faults = control.answer(method, path, status, await response.json());
      expect([method, path, status, faults]).toEqual([method, path, status, []]);
    };
    for (const name of ["tea", "cups"]) of.createApp({ name });
    const { addon } = of.installWithoutProvision({ app: "tea" });
    const { id } = of.openIncident({ title: "Slow" });
    const here = (path: string) =>
      path
        .replace("incidents/{id}", `incidents/${id}`)
        .replace("{id}", addon.id)
        .replace(/\{\w+\}/, "tea");

    for (const call of control.operations()) {
      const [method, path] = call.split(" ") as [string, string];
      const body = control.example(call);
      await send(method, here(path), undefined, { authorization: "Bearer none" });
      await send(method, here(path), undefined, { origin: "https://elsewhere.example.com" });
      if (method !== "GET") {
        await send(method, here(path), "{");
        await send(method, here(path), JSON.stringify({ text: "x".repeat(1_100_000) }));
        await send(method, here(path), "{}", { "content-type": "application/json; charset=klingon" });
      }
      if (body !== undefined) await send(method, here(path), '{"strange": true}');
      if (path.includes("{")) await send(method, path.replace(/\{\w+\}/, "%zz"));
      if (/\{(app|id)\}/.test(path)) await send(method, path.replace(/\{\w+\}/, "none"), body);
    }
    await send("GET", "/sandbox/ledger?status=odd");

    // What the present state does not allow.
    await send("POST", "/sandbox/apps", '{"name": "cups"}');
    await send("PATCH", "/sandbox/apps/tea", '{"name": "cups"}');
    const { name } = of.attach(addon.id, { app: "cups" });
    await send("POST", "/sandbox/apps/cups/addons", JSON.stringify({ as: name, silent: true }));
    await send("POST", `/sandbox/addons/${addon.id}/attachments`, JSON.stringify({ app: "cups", name }));
    of.resolveIncident(id);
    await send("PATCH", `/sandbox/incidents/${id}`, '{"resolved": true}');
    partner.answers({ status: 202, body: { id: "1", message: "Later." } });
    await of.createAppFromManifest({ name: "waits", manifest: { addons: ["cups:basic"] } });
    await send("POST", "/sandbox/apps/waits/deploys");
    const { length } = partner.requests;
    partner.answers(() => new Promise(() => {}));
    const at = `/sandbox/addons/${addon.id}`;
    const calls = [
      send("POST", `${at}/redeliver`),
      send("PATCH", at, '{"plan": "premium"}'),
      send("DELETE", at),
      send("POST", `${at}/sso`),
    ];
    await eventually(() => expect(partner.requests).toHaveLength(length + calls.length));
    of.reset();
    partner.answers({ status: 200 });
    partner.drop();
    await Promise.all(calls);

    const refusals = (answers: string[]) => answers.filter((answer) => / 4\d\d$/.test(answer)).sort();
    expect(refusals([...control.answers])).toEqual(refusals(control.described()));
    await close();
    await partner.close();
  });

  it.each([
    ["/sandbox/apps/a/addons", { plans: "basic" }],
    ["/sandbox/faults", { match: "GET /", action: { explode: true } }],
    ["/sandbox/settings", { refreshStatus: 204 }],
  ])("refuses what the sandbox refuses: %s %j", async (path, body) => {
    expect(control.request("POST", path, body)).not.toEqual([]);
    const sent = { method: "POST", body: JSON.stringify(body) };
    expect((await fetch(life.world.sandbox.url + path, sent)).status).toBe(422);
  });
});

it("docs/openapi/partner.yaml says of each call what the platform sends and what the kit answers", async () => {
  const since = life.position();
  const uuid = await life.settled("basic");
  const later = await life.settled("dedicated");
  await life.control.changePlan(uuid, "premium");
  await life.control.redeliver(uuid);
  await life.control.signOn(uuid);
  const send = async (method: string, path: string, body: object | string | null, authorization: string) => {
    const response = await fetch(life.world.service.url + path, {
      ...{
        method,
        headers: { authorization },
        body: typeof body === "string" ? body : body && JSON.stringify(body),
      },
    });
    const text = await response.text();
    const faults = partner.answer(method, path, response.status, text && JSON.parse(text));
    expect([path, faults]).toEqual([path, []]);
    return response.status;
  };
  const { addonId, addonPassword } = life.world.sandbox.settings;
  const right = basic(addonId, addonPassword);
  const statuses = [
    await send("POST", "/resources", {}, basic("a", "b")),
    await send("POST", "/resources", { plan: "basic" }, right),
    await send("POST", "/resources", "{", right),
    await send("PUT", `/resources/${later}`, "{", right),
    await send("PUT", `/resources/${later}`, { plan: "none" }, right),
    await send("PUT", "/resources/01234567-89ab-cdef-0123-456789abcdef", { plan: "basic" }, right),
    await send("DELETE", `/resources/${uuid}`, null, right),
    await send("DELETE", `/resources/${uuid}`, null, right),
  ];
  expect(statuses).toEqual([401, 422, 400, 400, 422, 404, 204, 410]);
  const calls = life.entries(since).filter(({ direction }) => direction === "out");
  expect(calls.length).toBeGreaterThanOrEqual(5);
  for (const { method, path, request, response } of calls) {
    expect([path, partner.request(method, path, request.body)]).toEqual([path, []]);
    expect([path, partner.answer(method, path, response!.status, response!.body)]).toEqual([path, []]);
  }
  expect([...partner.seen].sort()).toEqual(partner.operations().sort());
});

it("docs/openapi/try.http runs from its first call to its last", async () => {
  const { addonId, addonPassword } = life.world.sandbox.settings;
  const { sandbox, service } = life.world;
  const given: Record<string, string> = {
    ...{ sandbox: sandbox.url, service: service.url!, addon: addonId, password: addonPassword },
  };
  const answers: Record<string, unknown> = {};
  const memberOf = (value: unknown, path: string) =>
    path.split(".").reduce((all, key) => (all as Record<string, unknown>)[key], value) as string;
  const filled = (text: string) =>
    text.replace(/\{\{(\w+)(?:\.response\.body\.\$\.([\w.]+))?\}\}/g, (_, name: string, path?: string) =>
      path ? memberOf(answers[name], path) : given[name]!,
    );
  const [, ...calls] = read("docs/openapi/try.http").split(/^###.*$/m);
  expect(calls.length).toBeGreaterThan(10);
  for (const call of calls) {
    const [, name] = /^# @name (\w+)$/m.exec(call) ?? [];
    const [head = "", body] = filled(call.replace(/^#.*$/gm, "").trim()).split("\n\n");
    const [first = "", ...headers] = head.split("\n");
    const [method, address] = first.split(" ") as [string, string];
    const sent = headers.map((line): [string, string] => {
      const [key, value] = line.split(": ") as [string, string];
      const [, user, secret] = /^Basic (\S+) (\S+)$/.exec(value) ?? [];
      return [key, user ? basic(user, secret!) : value];
    });
    const response = await fetch(address, { method, headers: sent, ...(body && { body }) });
    expect([first, response.ok]).toEqual([first, true]);
    const text = await response.text();
    if (name) answers[name] = JSON.parse(text);
  }
});
