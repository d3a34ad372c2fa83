import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { Response } from "supertest";
import { aGrant, aProvisionRequest } from "../support/a-provision-request.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { basic } from "../support/partner-calls.ts";
import { rawHttp } from "../support/raw-http.ts";
import { opened } from "../support/world.ts";

// Without sweeps: the sandbox does not know the grants made up here.
const life = opened(() => aLifecycle({ environment: { WEB_JOBS: "off" } }));

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
  expect(await countRows()).toBe(0);
  // The clean-up of an earlier case may still run; it does not belong to this one.
  expect(life.vendor.calls.filter(({ what }) => what !== "deprovision")).toEqual([]);
}

async function countRows(): Promise<number> {
  const [row] = await life.world.rows<{ rows: number }>(
    `SELECT ((SELECT count(*) FROM resources) + (SELECT count(*) FROM credentials)
       + (SELECT count(*) FROM steps) + (SELECT count(*) FROM events))::int AS rows`,
  );
  return row!.rows;
}

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
  return life.world.forged.nothingIsLeftOf("steps", "credentials", "resources", "events");
};

const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
const requestWith = (members: string) =>
  `{"uuid":"${randomUUID()}","plan":"basic"${members && `,${members}`}}`;

describe("a body that is not a valid request is refused", () => {
  const ids: Record<number, string> = {
    ...{ 400: "bad_request", 413: "payload_too_large", 415: "unsupported_media_type", 422: "invalid_params" },
  };
  const latin = [`{"uuid":"${randomUUID()}","plan":"basic","name":"`, "\xff", '"}'].join("");

  it.each<[string, number, unknown, Record<string, string | null>?]>([
    ["broken JSON", 400, '{"uuid":'],
    ["null", 422, "null"],
    ["an empty object", 422, "{}"],
    ["an empty body", 422, ""],
    ["no body and no type", 422, undefined, { "content-type": null }],
    ["a form", 400, "uuid=1", { "content-type": "application/x-www-form-urlencoded" }],
    ["UTF-16", 422, Buffer.from(`\ufeff{"plan":"é"}`, "utf16le")],
    ["bytes that are no UTF-8", 422, Buffer.from(latin, "latin1")],
    ["a compressed body", 415, gzipSync("{}"), { "content-encoding": "gzip" }],
    ["more than 64 kB", 413, `"${"x".repeat(65_536)}"`],
    ["30,000 arrays in each other", 422, nested(30_000)],
    ["21 levels", 422, requestWith(`"options":${nested(20)}`)],
    ["NUL in a name", 422, requestWith('"name":"a\\u0000b"')],
    ["NUL in an unknown member", 422, requestWith('"more":[{"deep":"\\u0000"}]')],
    ["NUL in a key", 422, requestWith('"options":{"a\\u0000":1}')],
    ["half a surrogate pair in a name", 422, requestWith('"name":"\\ud83d"')],
    ["half a surrogate pair in a key", 422, requestWith('"options":{"\\ud800":1}')],
  ])("%s", async (_case, status, body, headers = {}) => {
    const unusual = { headers: { "content-type": "application/json", ...headers } };
    await expectRefused(await life.platform.provision(body, unusual), status, ids[status]);
    await expectRefused(await life.platform.changePlan(randomUUID(), body, unusual), status, ids[status]);
  });

  it("more than 64 kB in chunks, without a length", async () => {
    const { addonId, addonPassword } = life.world.sandbox.settings;
    const piece = `8000\r\n${"x".repeat(0x8000)}\r\n`;
    const answer = await rawHttp(
      life.world.service.url!,
      `POST /resources HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(addonId, addonPassword)}\r\nConnection: close\r\n` +
        `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${piece.repeat(3)}0\r\n\r\n`,
    );
    expect(answer.statuses).toEqual([413]);
    expect(await countRows()).toBe(0);
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
    it.each(others.flatMap((member) => odd.map(([how, value]) => ({ member, how, value }))))(
      "$member that is $how",
      async ({ member, value }) => {
        const request = { ...aProvisionRequest(), [member]: value };
        await accepted(request);
        expect(await stored(request.uuid)).toMatchObject({ state: "provisioned", plan: "basic" });
      },
    );

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
    ["the greatest uuid", aProvisionRequest({ uuid: "ffffffff-ffff-ffff-ffff-ffffffffffff" })],
    ["a uuid of no version", aProvisionRequest({ uuid: "01234567-89ab-cdef-0123-456789abcdef" })],
  ])("is accepted: %s", async (_case, body) => accepted(body));

  it.each([
    ["an emoji", "🫖"],
    ["right to left", "‮إبريق شاي"],
    ["decomposed", "e\u0301"],
    ["a zero-width space", "tea\u200bpot"],
    ["SQL", "'; DROP TABLE resources; --"],
    ["a shell", "$(reboot) `id` | cat /etc/passwd"],
    ["quotes and backslashes", `"\\'`],
    ["line ends and escapes", "a\r\nb\u001b[31mc\t"],
    ["nothing", ""],
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
    expect(JSON.stringify(sorted((await stored(uuid)).options))).toBe(
      JSON.stringify(sorted(JSON.parse(options) as object)),
    );
    expect(({} as { x?: unknown }).x).toBeUndefined();
    expect((await life.platform.send("get", "/healthz")).status).toBe(200);
  });

  it.each(["__proto__", "constructor", "toString", "hasOwnProperty"])(
    "such a name is not a plan: %s",
    async (plan) => {
      await expectRefused(await life.platform.provision(aProvisionRequest({ plan })), 422, "unknown_plan");
    },
  );
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
    ["with white space around it", ` ${uuid} `],
    ["with a line end behind it", `${uuid}\n`],
    ["a path", "../../apps"],
  ];
  it.each(none)("is refused in a body: %s", async (_case, one) => {
    await expectRefused(
      await life.platform.provision(aProvisionRequest({ uuid: one })),
      422,
      "invalid_params",
    );
  });

  it.each([
    ...none.map(([how, one]): [string, string, number] => [how, encodeURIComponent(one), 404]),
    ["an encoded path", "..%2f..%2fapps", 404],
    ["a percent sign that encodes nothing", "%zz", 400],
    ["broken UTF-8", "%ff%fe", 400],
    ["10 kB", "x".repeat(10_000), 404],
    ["a name of JavaScript", "__proto__", 404],
  ])("is refused in a path: %s", async (_case, one, status) => {
    await expectRefused(await life.platform.changePlan(one, { plan: "premium" }), status);
    await expectRefused(await life.platform.deprovision(one), status);
    const calls = life.entries().filter(({ direction }) => direction === "in");
    // After an earlier test the status feed may be asked, or a grant be exchanged.
    expect(calls.filter(({ path }) => !/^\/(api\/v4|oauth\/token)/.test(path))).toEqual([]);
  });

  it.each(["?force=true", "#part", "/", "/?"])("is accepted in a path followed by %s", async (more) => {
    const request = aProvisionRequest();
    await accepted(request);
    expect((await life.platform.deprovision(`${request.uuid}${more}`)).status).toBe(204);
  });
});

describe("oauth_grant", () => {
  afterEach(gone);
  const when = "2035-03-03T18:01:31";

  it.each<[string, unknown, string | null]>([
    ["an offset without a colon", `${when}-0800`, "2035-03-04T02:01:31.000Z"],
    ["an offset with a colon", `${when}-08:00`, "2035-03-04T02:01:31.000Z"],
    ["Z", `${when}Z`, "2035-03-03T18:01:31.000Z"],
    ["fractions and an offset", `${when}.25+0130`, "2035-03-03T16:31:31.250Z"],
    ["rubbish", "in five minutes", null],
    ["an impossible date", "2035-02-31T99:00:00Z", null],
    ["a year no calendar has", "+275760-09-13T00:00:00Z", null],
    ["null", null, null],
    ["nothing", undefined, null],
  ])("may expire at %s, and always gets five minutes", async (_case, expiresAt, kept) => {
    const request = aProvisionRequest({ oauth_grant: aGrant({ expires_at: expiresAt }) });
    await accepted(request);
    const credential = await credentialOf(request.uuid);
    expect(credential).toMatchObject({
      state: "grant_pending",
      expiresAt: kept === null ? null : new Date(kept),
    });
    expect(credential.livesSeconds).toBeGreaterThan(295);
    expect(credential.livesSeconds).toBeLessThanOrEqual(305);
  });

  it.each<[string, unknown]>([
    ["absent", undefined],
    ["null", null],
    ["an object without a code", {}],
    ["a code that is null", { code: null }],
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

  it.each(["DELETE", "PUT"])("a header that overrides the method with %s is ignored", async (method) => {
    const headers = { "x-http-method-override": method, "x-method-override": method };
    const path = `/resources/${randomUUID()}?_method=${method}`;
    expect((await life.platform.send("post", path, {}, { headers })).status).toBe(405);
  });

  const login = () => basic(life.world.sandbox.settings.addonId, life.world.sandbox.settings.addonPassword);
  it("a request in absolute form is the same as any other", async () => {
    const { statuses } = await rawHttp(
      life.world.service.url!,
      `DELETE http://elsewhere.example.com/resources/${randomUUID()} HTTP/1.1\r\nHost: x\r\nAuthorization: ${login()}\r\n\r\n`,
    );
    expect(statuses).toEqual([404]);
  });

  const head = "POST /resources HTTP/1.1\r\n";
  it.each([
    ["two lengths", `${head}Host: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, 400],
    ["both", `${head}Host: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
    ["no Host", `${head}\r\n`, 400],
    ["17 kB of headers", `${head}Host: x\r\nX-A: ${"a".repeat(17_000)}\r\n\r\n`, 431],
    ["a method nobody knows", `BREW /resources HTTP/1.1\r\nHost: x\r\n\r\n`, 400],
  ])("with %s a request is refused before it reaches a route", async (_case, bytes, status) => {
    const answer = await rawHttp(life.world.service.url!, bytes);
    expect(answer.statuses).toEqual([status]);
  });

  it("none of these tests caused a 5xx or logged a secret", () => {
    const lines = life.world
      .logged()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { level: string; alarm?: string })
      .filter(({ alarm = "" }) => !["no_grant", "unknown_resource"].includes(alarm));
    expect(lines.filter(({ level }) => level === "error" || level === "fatal")).toEqual([]);
    expect(life.world.logged()).not.toMatch(/grant-[0-9a-f]{32}/);
    expect(life.world.logged()).not.toContain(login());
  });
});

function sorted(value: object): object {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
