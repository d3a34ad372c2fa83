import { createHash } from "node:crypto";
import { success } from "./partner.ts";
import { aWorld, manifest, type TestWorld } from "./world.ts";

let world: TestWorld;
beforeEach(async () => void (world = await aWorld()));
afterEach(() => world.close());

const lastComplaints = () => world.control.ledger().entries.at(-1)?.complaints;
const sent = (index: number) => JSON.parse(world.partner.requests[index]!.body) as Record<string, unknown>;
const codeOf = (index: number) => (sent(index)["oauth_grant"] as { code: string }).code;

describe("a provision request", () => {
  it("carries Basic credentials, the partner API's media type and the documented members", async () => {
    const { addon, response } = await world.control.install({
      plan: "widgets:premium",
      options: { size: "2" },
    });
    const { addonPassword } = world.sandbox.settings;
    expect(world.partner.requests[0]).toMatchObject({
      method: "POST",
      path: "/resources",
      headers: {
        authorization: `Basic ${Buffer.from(`widgets:${addonPassword}`).toString("base64")}`,
        accept: "application/vnd.svc-addons+json; version=3",
        "content-type": "application/json",
      },
    });
    expect(sent(0)).toMatchObject({
      uuid: addon.id,
      name: addon.name,
      plan: "premium",
      region: "us",
      options: { size: "2" },
      callback_url: `${world.sandbox.url}/addons/${addon.id}`,
    });
    expect(response).toMatchObject({ status: 200, body: { message: "Ready." } });
    expect(addon).toMatchObject({
      state: "provisioned",
      plan: { name: "widgets:premium" },
      config_vars: ["WIDGET_URL"],
    });
  });

  it.each([
    ["a body that is not JSON", { status: 200, body: "fine", contentType: "text/plain" }, /not JSON/],
    ["no id", { status: 200, body: { message: "ok" } }, /id is missing/],
    [
      "an undeclared config var",
      { status: 200, body: { id: "1", config: { OTHER: "x" } } },
      /OTHER is not declared/,
    ],
    [
      "config in a 202",
      { status: 202, body: { id: "1", config: { WIDGET_URL: "x" } } },
      /202 carries no config/,
    ],
    ["201", { status: 201, body: { id: "1" } }, /only 200 and 202/],
    ["a refusal without a message", { status: 422, body: {} }, /not \{id, message\}/],
  ])("causes a complaint in the ledger when the answer has %s", async (_what, answer, complaint) => {
    world.partner.answers(answer);
    await world.control.install();
    expect(lastComplaints()?.join(" ")).toMatch(complaint);
  });

  it("causes no complaint when the answer is right", async () => {
    await world.control.install();
    expect(lastComplaints()).toBeUndefined();
  });

  it("has the log members if the manifest asks for them, and accepts a drain in the answer", async () => {
    world.control.partner({ addonManifest: { ...manifest, requires: ["log_input"] } });
    const url = "https://logs.example.com/drain";
    world.partner.answers({ status: 200, body: { id: "p-1", log_drain_url: url } });
    const { addon, token } = await world.installed();
    expect(sent(0)).toMatchObject({
      log_input_url: expect.any(String) as string,
      log_drain_token: expect.any(String) as string,
    });
    expect(await world.call(token, `/addons/${addon.id}/log-drains`)).toMatchObject({
      status: 200,
      body: [{ url, token: sent(0)["log_drain_token"] }],
    });
    await world.control.redeliver(addon.id);
    expect(sent(1)).toEqual(sent(0));
  });

  it("fails when the service does not answer in time", async () => {
    world.waitsForService(300);
    world.partner.answers(() => new Promise(() => undefined));
    const { addon, response } = await world.control.install();
    expect(response).toMatchObject({ status: null, error: "The service did not answer within 0.3 s." });
    expect(addon.state).toBe("deprovisioned");
    expect(await world.exchange(world.lastCode())).toMatchObject({ status: 400 });
  });

  it("is refused by the platform for a plan that the manifest does not have, unless forced", async () => {
    await expect(world.control.install({ plan: "huge" })).rejects.toThrow(/basic, premium/);
    expect((await world.control.install({ plan: "huge", force: true })).response.status).toBe(200);
  });
});

describe("a redelivery", () => {
  it("sends the same request with the same code", async () => {
    const { addon } = await world.control.install();
    await world.control.redeliver(addon.id);
    expect(sent(1)).toEqual(sent(0));
    expect(await world.exchange(codeOf(0))).toMatchObject({ status: 200 });
  });

  it("sends a new code on request, whose tokens replace the former ones", async () => {
    const { addon, token } = await world.installed();
    await world.control.redeliver(addon.id, { newCode: true, plan: "premium" });
    expect(sent(1)).toMatchObject({ uuid: addon.id, plan: "premium" });
    expect(await world.call(token, "/addons")).toMatchObject({ status: 200 });
    const { body } = await world.exchange(codeOf(1));
    expect(await world.call(token, "/addons")).toMatchObject({ status: 401 });
    expect(await world.call(body.access_token, "/addons")).toMatchObject({ status: 200 });
  });

  it("invalidates the other codes when one of several is exchanged", async () => {
    const { addon } = await world.installed();
    for (const newCode of [true, true]) await world.control.redeliver(addon.id, { newCode });
    const { body } = await world.exchange(codeOf(1));
    expect(await world.exchange(codeOf(2))).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    expect(await world.call(body.access_token, "/addons")).toMatchObject({ status: 200 });
  });

  it("with the same answer as the first restores nothing that has changed since", async () => {
    const url = "https://logs.example.com/drain";
    const answer = {
      id: "p-1",
      message: "Small.",
      config: { WIDGET_URL: "https://basic" },
      log_drain_url: url,
    };
    world.partner.answers(({ method }) =>
      method === "PUT"
        ? { status: 200, body: { message: "Large.", config: { WIDGET_URL: "https://premium" } } }
        : { status: 200, body: answer },
    );
    const { addon, token } = await world.installed({ plan: "basic" });
    await world.control.changePlan(addon.id, "premium");
    const drain = (await world.call<{ id: string }[]>(token, `/addons/${addon.id}/log-drains`)).body[0]!;
    const moved = { method: "PUT", json: { url: "https://logs.example.com/moved" } };
    await world.call(token, `/addons/${addon.id}/log-drains/${drain.id}`, moved);
    const before = world.control.addon(addon.id);
    const { response } = await world.control.redeliver(addon.id);
    expect([response.status, response.complaints]).toEqual([200, undefined]);
    expect(world.control.addon(addon.id)).toEqual(before);
    expect(world.control.configVars(addon.app.id)).toEqual({ WIDGET_URL: "https://premium" });
    const drains = await world.call(token, `/addons/${addon.id}/log-drains`);
    expect(drains.body).toMatchObject([{ id: drain.id, url: moved.json.url }]);
  });

  it("completes a provision whose answer was lost, with the same code", async () => {
    world.control.fault("> POST /resources", { reset: "after" });
    const { addon, response } = await world.control.install();
    expect([addon.state, response.status]).toEqual(["deprovisioned", null]);
    expect(await world.exchange(codeOf(0))).toMatchObject({ status: 400 });
    expect((await world.control.redeliver(addon.id)).addon.state).toBe("provisioned");
    expect(await world.exchange(codeOf(0))).toMatchObject({ status: 200 });
  });
});

describe("a plan change", () => {
  it("sends the plan's bare name, and takes effect on success only", async () => {
    const { addon } = await world.control.install();
    const changed = await world.control.changePlan(addon.id, "premium");
    expect(world.partner.requests[1]).toMatchObject({
      method: "PUT",
      path: `/resources/${addon.id}`,
      body: '{"plan":"premium"}',
    });
    expect(changed.addon.plan.name).toBe("widgets:premium");
    world.partner.answers({ status: 422, body: { id: "no", message: "No way down." } });
    const refused = await world.control.changePlan(addon.id, "basic");
    expect([refused.response.status, refused.addon.plan.name]).toEqual([422, "widgets:premium"]);
  });

  it.each([404, 410])("of a live resource causes a complaint when it is answered %i", async (status) => {
    const { addon } = await world.control.install();
    world.partner.answers({ status, body: { id: "unknown", message: "Who?" } });
    const { response } = await world.control.changePlan(addon.id, "premium");
    expect(response.complaints).toEqual([`The resource lives; the answer should not be ${status}.`]);
    await world.control.deprovision(addon.id);
    expect((await world.control.changePlan(addon.id, "premium")).response.complaints).toBeUndefined();
  });
});

describe("a deprovision", () => {
  it("sends no body and ends the resource", async () => {
    const { addon } = await world.control.install();
    expect((await world.control.deprovision(addon.id)).addon.state).toBe("deprovisioned");
    const request = world.partner.requests[1]!;
    expect(request).toMatchObject({ method: "DELETE", path: `/resources/${addon.id}`, body: "" });
    expect(request.headers["content-type"]).toBeUndefined();
    expect(world.control.configVars(addon.app.id)).toEqual({});
  });

  it("can be repeated after a failure", async () => {
    const { addon } = await world.control.install();
    world.partner.answers({ status: 500, body: { id: "oops", message: "Oops." } });
    expect((await world.control.deprovision(addon.id)).addon.state).toBe("deprovisioning");
    world.partner.answers(success);
    expect((await world.control.deprovision(addon.id)).addon.state).toBe("deprovisioned");
  });
});

describe("a sign-on", () => {
  it("is a form that is signed with the salt in both ways", async () => {
    const { addon } = await world.control.install();
    const { action, form } = world.control.signOnForm(addon.id, "user@example.com");
    expect(action).toBe(`${world.partner.url}/sso/login`);
    const base = `${addon.id}:${world.sandbox.settings.ssoSalt}:${form["timestamp"]}`;
    const hash = (algorithm: string, text: string) => createHash(algorithm).update(text).digest("hex");
    expect(form).toMatchObject({
      resource_id: addon.id,
      email: "user@example.com",
      app: addon.app.name,
      resource_token: hash("sha1", base),
      user_scoped_resource_token: hash("sha256", `${base}:${form["user_id"]}:user@example.com`),
    });
  });

  it("is posted as a form on request, and should be answered with 303", async () => {
    const { addon } = await world.control.install();
    world.partner.answers({ status: 303, body: "" });
    expect((await world.control.signOn(addon.id)).response.status).toBe(303);
    expect(new URLSearchParams(world.partner.requests[1]!.body).get("resource_id")).toBe(addon.id);
    expect(lastComplaints()).toBeUndefined();
  });

  it("to a deprovisioned resource should be refused", async () => {
    const { addon } = await world.control.install();
    await world.control.deprovision(addon.id);
    world.partner.answers({ status: 403, body: "" });
    expect((await world.control.signOn(addon.id)).response.complaints).toBeUndefined();
    world.partner.answers({ status: 303, body: "" });
    const { complaints } = (await world.control.signOn(addon.id)).response;
    expect(complaints).toEqual(["A sign-on to a resource that is gone is answered with 403, not 303."]);
  });
});
