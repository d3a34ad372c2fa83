import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { Response } from "supertest";
import { aGrant, aProvisionRequest } from "../support/a-provision-request.ts";
import { basic } from "../support/partner-calls.ts";
import { rawHttp } from "../support/raw-http.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { opened } from "../support/world.ts";

// Without sweeps: the sandbox does not know the grants made up here.
const life = opened(() => aLifecycle({ environment: { WEB_JOBS: "off" } }));

const login = () => basic(life.world.sandbox.settings.addonId, life.world.sandbox.settings.addonPassword);

/** Expects a refusal in the standard form, which changed nothing and revealed nothing internal. */
async function expectRefused(answer: Response, status: number, id?: string): Promise<void> {
  const body = answer.body as { id: string; message: string };
  expect({ status: answer.status, ...body }).toEqual({
    status,
    id: id ?? expect.stringMatching(/^[a-z_]+$/),
    message: expect.stringMatching(/^.+\.$/s),
  });
  expect(answer.text).not.toMatch(/node_modules|\bat .*:\d+|SyntaxError|Prisma|postgres/i);
  expect(answer.headers).not.toHaveProperty("x-powered-by");
  expect(await kept()).toEqual([]);
  // The clean-up of an earlier case may still run; it does not belong to this one.
  expect(life.vendor.calls.filter(({ what }) => what !== "deprovision")).toEqual([]);
}

const kept = () =>
  life.world.rows(
    ["resources", "credentials", "steps", "events"]
      .map((table) => `SELECT uuid FROM ${table}`)
      .join(" UNION ALL "),
  );

async function stored(uuid: string) {
  const columns = "uuid, name, plan, region, options, state, callback_url";
  const [row] = await life.world.rows(`SELECT ${columns} FROM resources WHERE uuid = $1`, [uuid]);
  return row as { options: object };
}

async function credentialOf(uuid: string) {
  const [row] = await life.world.rows<{ state: string; expiresAt: Date | null; livesSeconds: number | null }>(
    `SELECT state, grant_expires_at AS "expiresAt", round(extract(epoch FROM grant_deadline - now()))::int AS "livesSeconds"
     FROM credentials WHERE uuid = $1`,
    [uuid],
  );
  return row!;
}

async function accepted(body: unknown, headers: Record<string, string | null> = {}): Promise<void> {
  const { status, text } = await life.platform.provision(body, { headers });
  expect({ status, text }).toEqual({ status: 200, text: expect.any(String) });
}

const gone = () => {
  life.vendor.calls.length = 0;
  return life.world.rows(
    `WITH a AS (DELETE FROM resources), b AS (DELETE FROM credentials), c AS (DELETE FROM steps) DELETE FROM events`,
  );
};

const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
const requestWith = (members: string) => `{"uuid":"${randomUUID()}","plan":"basic",${members}}`;

describe("a body that is not a valid request is refused", () => {
  const ids: Record<number, string> = {
    ...{ 400: "bad_request", 413: "payload_too_large", 415: "unsupported_media_type", 422: "invalid_params" },
  };

  it.each<[string, number, unknown, Record<string, string | null>?]>([
    ["broken JSON", 400, '{"uuid":'],
    ["null", 422, "null"],
    ["an empty body", 422, ""],
    ["no body and no type", 422, undefined, { "content-type": null }],
    ["bytes that are no UTF-8", 422, Buffer.from('{"name":"\xff"}', "latin1")],
    ["a compressed body", 415, gzipSync("{}"), { "content-encoding": "gzip" }],
    ["more than 64 kB", 413, `"${"x".repeat(65_536)}"`],
    ["30,000 arrays in each other", 422, nested(30_000)],
    ["21 levels", 422, requestWith(`"options":${nested(20)}`)],
    ["NUL in an unknown member", 422, requestWith('"more":[{"deep":"\\u0000"}]')],
    ["NUL in a key", 422, requestWith('"options":{"a\\u0000":1}')],
    ["half a surrogate pair in a name", 422, requestWith('"name":"\\ud83d"')],
  ])("%s", async (_case, status, body, headers = {}) => {
    const unusual = { headers: { "content-type": "application/json", ...headers } };
    await expectRefused(await life.platform.provision(body, unusual), status, ids[status]);
    await expectRefused(await life.platform.changePlan(randomUUID(), body, unusual), status, ids[status]);
  });

  it("more than 64 kB in chunks, without a length", async () => {
    const piece = `8000\r\n${"x".repeat(0x8000)}\r\n`;
    const answer = await rawHttp(
      life.world.service.url!,
      `POST /resources HTTP/1.1\r\nHost: x\r\nAuthorization: ${login()}\r\nConnection: close\r\n` +
        `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${piece.repeat(3)}0\r\n\r\n`,
    );
    expect(answer.statuses).toEqual([413]);
    expect(await kept()).toEqual([]);
  });
});

describe("validation of the members", () => {
  const odd: [string, unknown][] = [
    ["missing", undefined],
    ["null", null],
    ["a number", 17],
    ["true", true],
    ["an array", ["basic"]],
    ["an object", { name: "basic" }],
    ["empty", ""],
    ["huge", "x".repeat(20_000)],
  ];

  it.each(["uuid", "plan"].flatMap((member) => odd.map(([how, value]) => ({ member, how, value }))))(
    "names the $member when it is $how",
    async ({ member, value }) => {
      const answer = await life.platform.provision({ ...aProvisionRequest(), [member]: value });
      await expectRefused(answer, 422);
      expect(answer.text).toContain(member);
      expect(answer.text.length).toBeLessThan(300);
    },
  );

  const others = "name region options callback_url log_input_url log_drain_token oauth_grant more".split(" ");
  describe("accepts any other member", () => {
    afterEach(gone);
    it.each(others)("%s, whatever it is", async (member) => {
      for (const [how, value] of odd) {
        const request = { ...aProvisionRequest(), [member]: value };
        await accepted(request);
        const found = { how, ...(await stored(request.uuid)) };
        expect(found).toMatchObject({ how, state: "provisioned", plan: "basic" });
      }
    });

    it("only uuid and plan", async () => {
      const uuid = randomUUID();
      await accepted({ uuid, plan: "basic" });
      expect(await stored(uuid)).toEqual({
        ...{ uuid, plan: "basic", state: "provisioned", options: {} },
        ...{ name: null, region: null, callback_url: null },
      });
    });

    it("unknown members at every level, which are not stored", async () => {
      const request = aProvisionRequest({
        oauth_grant: aGrant({ scope: ["x"], issued_by: { id: 1 } }),
        options: { size: "2", unknown: true, answer: 42, ratio: 0.5, nothing: null },
        billing: { currency: "EUR" },
        state: "deprovisioned",
        sealed_answer: "x",
      });
      await accepted(request);
      expect(await stored(request.uuid)).toMatchObject({ state: "provisioned", options: request["options"] });
    });
  });
});

describe("unusual but valid input", () => {
  afterEach(gone);

  it.each<[string, Record<string, string>]>([
    ["the platform's own media type", { "content-type": "application/vnd.svc-addons+json; version=3" }],
    ["a form's type", { "content-type": "application/x-www-form-urlencoded" }],
    ["another charset, where the body is UTF-8", { "content-type": "application/json; charset=iso-8859-1" }],
    ["an Accept that we never answer", { accept: "application/vnd.svc-addons+json; version=3" }],
  ])("is accepted: %s", async (_case, headers) => {
    await accepted(aProvisionRequest(), headers);
  });

  const whole = JSON.stringify(aProvisionRequest({ more: "" }));
  it.each([
    ["a byte order mark", `\ufeff${JSON.stringify(aProvisionRequest())}`],
    ["exactly 64 kB", whole.replace('"more":""', `"more":"${"x".repeat(65_536 - whole.length)}"`)],
    ["20 levels of nesting", requestWith(`"options":{"a":${nested(18)}}`)],
    ["the nil uuid", aProvisionRequest({ uuid: "00000000-0000-0000-0000-000000000000" })],
  ])("is accepted: %s", async (_case, body) => accepted(body));

  it.each([
    ["of every script", "🫖 ‮إبريق شاي e\u0301 tea\u200bpot"],
    ["of SQL and of a shell", "'; DROP TABLE resources; -- $(reboot) `id` | cat /etc/passwd"],
    ["with quotes, line ends and escapes", `"\\'a\r\nb\u001b[31mc\t`],
    ["of no length", ""],
  ])("text is stored unchanged: %s", async (_case, text) => {
    const kept = { name: text, region: text, callback_url: text, options: { [text]: text } };
    const request = aProvisionRequest(kept);
    await accepted(request);
    expect(await stored(request.uuid)).toMatchObject(kept);
  });

  it("options may have names with a meaning in JavaScript", async () => {
    const uuid = randomUUID();
    const options =
      '{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}},"toString":"t","hasOwnProperty":1}';
    await accepted(`{"uuid":"${uuid}","plan":"basic","options":${options},"__proto__":{"y":1}}`);
    const sorted = (value: object) => Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    expect(sorted((await stored(uuid)).options)).toEqual(sorted(JSON.parse(options) as object));
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });

  it.each(["__proto__", "constructor"])("such a name is not a plan: %s", async (plan) => {
    await expectRefused(await life.platform.provision(aProvisionRequest({ plan })), 422, "unknown_plan");
  });
});

describe("uuid", () => {
  afterEach(gone);
  const uuid = "01234567-89AB-cdef-0123-456789ABCDEF";

  it("means the same resource in upper and lower case", async () => {
    const first = await life.platform.provision(aProvisionRequest({ uuid }));
    const second = await life.platform.provision(aProvisionRequest({ uuid: uuid.toUpperCase() }));
    expect(second.text).toBe(first.text);
    expect((first.body as { id: string }).id).toBe(uuid.toLowerCase());
    expect((await life.platform.changePlan(uuid.toUpperCase(), { plan: "premium" })).status).toBe(200);
    expect((await life.platform.deprovision(uuid.toLowerCase())).status).toBe(204);
    expect((await life.platform.deprovision(uuid.toUpperCase())).status).toBe(410);
  });

  const none: [string, string][] = [
    ["in braces", `{${uuid}}`],
    ["without hyphens", uuid.replaceAll("-", "")],
    ["with a letter too many", `${uuid}0`],
    ["with a line end behind it", `${uuid}\n`],
    ["a path", "../../apps"],
  ];
  it.each(none)("is refused in a body: %s", async (_case, wrong) => {
    const answer = await life.platform.provision(aProvisionRequest({ uuid: wrong }));
    await expectRefused(answer, 422, "invalid_params");
  });

  it.each([
    ...none.map(([how, one]): [string, string, number] => [how, encodeURIComponent(one), 404]),
    ["a percent sign that encodes nothing", "%zz", 400],
  ])("is refused in a path: %s", async (_case, one, status) => {
    await expectRefused(await life.platform.changePlan(one, { plan: "premium" }), status);
    await expectRefused(await life.platform.deprovision(one), status);
    const calls = life.entries().filter(({ direction }) => direction === "in");
    // After an earlier test the status feed may be asked, or a grant be exchanged.
    expect(calls.filter(({ path }) => !/^\/(api\/v4|oauth\/token)/.test(path))).toEqual([]);
  });

  it.each(["?force=true", "/"])("is accepted in a path followed by %s", async (more) => {
    const request = aProvisionRequest();
    await accepted(request);
    expect((await life.platform.deprovision(`${request.uuid}${more}`)).status).toBe(204);
  });
});

describe("oauth_grant", () => {
  afterEach(gone);

  it.each<[string, unknown, Date | null]>([
    ["an offset without a colon", "2035-03-03T18:01:31-0800", new Date("2035-03-04T02:01:31Z")],
    ["a year no calendar has", "+275760-09-13T00:00:00Z", null],
    ["nothing", undefined, null],
  ])("may expire at %s, and always gets five minutes", async (_case, expiresAt, kept) => {
    const request = aProvisionRequest({ oauth_grant: aGrant({ expires_at: expiresAt }) });
    await accepted(request);
    const credential = await credentialOf(request.uuid);
    expect(credential).toMatchObject({ state: "grant_pending", expiresAt: kept });
    expect(credential.livesSeconds).toBeGreaterThan(295);
    expect(credential.livesSeconds).toBeLessThanOrEqual(305);
  });

  it.each<[string, unknown]>([
    ["absent", undefined],
    ["an object without a code", {}],
    ["a code that is empty", { code: "" }],
  ])("may be missing: %s", async (_case, grant) => {
    const request = aProvisionRequest({ oauth_grant: grant });
    await accepted(request);
    const none = { state: "no_grant", expiresAt: null, livesSeconds: null };
    expect(await credentialOf(request.uuid)).toEqual(none);
  });

  it("is refused with a code of 8 kB", async () => {
    const oauth_grant = aGrant({ code: "x".repeat(8_192) });
    const answer = await life.platform.provision(aProvisionRequest({ oauth_grant }));
    await expectRefused(answer, 422, "invalid_params");
    expect(answer.text).toMatch(/oauth_grant\.code/);
  });
});

describe("unusual HTTP requests", () => {
  it.each([
    ["/resources", "POST", "get head put patch delete options trace"],
    [`/resources/${randomUUID()}`, "PUT, DELETE", "get head post patch options trace"],
  ])("at %s only %s is allowed", async (path, allowed, others) => {
    for (const method of others.split(" ")) {
      const { status, headers } = await life.platform.send(method, path, undefined, {
        headers: { "content-type": null },
      });
      expect({ method, status, allow: headers["allow"] }).toEqual({ method, status: 405, allow: allowed });
    }
  });

  it("a header that overrides the method is ignored", async () => {
    const headers = { "x-http-method-override": "DELETE", "x-method-override": "DELETE" };
    const path = `/resources/${randomUUID()}?_method=DELETE`;
    expect((await life.platform.send("post", path, {}, { headers })).status).toBe(405);
  });

  it.each([
    ["two lengths", "Host: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"],
    ["both", "Host: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["no Host", "\r\n"],
  ])("with %s a request is refused by the HTTP server itself", async (_case, rest) => {
    const answer = await rawHttp(life.world.service.url!, `POST /resources HTTP/1.1\r\n${rest}`);
    expect(answer.statuses).toEqual([400]);
  });

  it("none of these tests caused a 5xx or logged a secret", () => {
    const faults = [...life.world.lines('"level":"error"'), ...life.world.lines('"level":"fatal"')];
    expect(faults.filter((line) => !line.includes('"alarm":"no_grant"'))).toEqual([]);
    expect(life.world.logged()).not.toMatch(/grant-[0-9a-f]{32}/);
    expect(life.world.logged()).not.toContain(login().slice("Basic ".length));
  });
});
