import { BY_PASSWORD } from "../../../src/operator/store.ts";
import { purposeOf } from "../../../src/operator/pages/frame.tsx";
import { tokenFor } from "../../../src/pages/forms.ts";
import { buildText } from "../../../src/version.ts";
import { aWorldOfAnOperator, hiddenIn } from "./operator.ts";
import { opened } from "../../support/world.ts";

let uuid: string;
const operator = opened(() => aWorldOfAnOperator());
beforeAll(async () => {
  uuid = await operator.life.settled();
});

describe("access to /operator", () => {
  it.each(["", "/resources", "/actions", "/secret", "/assets/live.js", "/nothing"])(
    "requires the password: /operator%s",
    async (path) => {
      for (const authorization of ["", `Basic ${btoa("operator:wrong")}`, `Basic ${btoa("teapots:x")}`]) {
        const { status, headers, html } = await operator.get(path, { authorization });
        expect([status, headers.get("www-authenticate")]).toEqual([401, `Basic realm="operator"`]);
        expect(JSON.parse(html)).toMatchObject({ id: "unauthorized" });
      }
    },
  );

  it("allows only our own script, no caching and no framing", async () => {
    const { status, headers, html } = await operator.get();
    expect(status).toBe(200);
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none';style-src 'self';script-src 'self';connect-src 'self';img-src data:;form-action 'self';frame-ancestors 'none';base-uri 'none'",
    );
    expect(Object.fromEntries(headers)).toMatchObject({
      "cache-control": "no-store",
      "x-frame-options": "DENY",
    });
    expect(html).not.toMatch(
      /<style|<script(?! src="\/operator\/assets\/live\.js\?v=[0-9a-f]{12}" defer)| style=| on\w+=/,
    );
  });

  it("does not exist without a password or accounts", async () => {
    await operator.world.restart({ environment: { OPERATOR_PASSWORD: "" } });
    expect((await operator.get()).status).toBe(404);
    await operator.world.restart();
    expect((await operator.get()).status).toBe(200);
  });
});

describe("an error page of /operator", () => {
  const places = ["Overview", "Resources", "Check-up", "Audit trail"];
  const none = "01234567-89ab-cdef-0123-456789abcdef";

  it.each([
    ["an unknown place", 404, () => operator.get("/nothing")],
    ["an unknown position in the list", 400, () => operator.get("/resources?after=nonsense")],
    ["an unknown state", 400, () => operator.get("/resources?state=boiling")],
    ["an unknown resource", 404, () => operator.get(`/resources/${none}`)],
    ["an unknown resource's action", 404, () => operator.get(`/resources/${none}/refresh`)],
    ["an unknown action", 404, () => operator.get("/actions/999")],
    ["what is no uuid", 400, () => operator.get("/resources/teapot")],
    ["a form without its token", 403, () => operator.post("/refresh-all", [])],
    ["a form of another site", 403, () => operator.post("/reseal", [], { "sec-fetch-site": "cross-site" })],
    ["a form that is too long", 400, () => operator.post("/secret", [["secret", "x".repeat(40_000)]])],
    ["what breaks", 500, () => broken(() => operator.get("/actions"))],
  ] as const)("has the same navigation as all others: %s", async (_what, status, ask) => {
    const page = await ask();
    expect(page.status).toBe(status);
    expect(page.html).toMatch(/<html lang="en" class="wide">/);
    expect(page.html).toContain(`<footer>${buildText}</footer>`);
    const [navigation] = /<nav.*<\/nav>/s.exec(page.html)!;
    expect([...navigation.matchAll(/<a href="[^"]+"[^>]*>([^<]+)</g)].map(([, name]) => name)).toEqual(
      places,
    );
    // It is not itself one of these pages.
    expect(navigation).not.toContain(`aria-current="page"`);
    expect(page.headers.get("content-security-policy")).toContain("script-src 'self'");
  });

  async function broken<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    await operator.world.rows(`ALTER TABLE operator_actions RENAME TO out_of_the_way`);
    try {
      return await work();
    } finally {
      await operator.world.rows(`ALTER TABLE out_of_the_way RENAME TO operator_actions`);
    }
  }
});

describe("a form of /operator", () => {
  const path = () => `/resources/${uuid}/refresh`;
  const pairs = async () => (await operator.life.credential(uuid))!.generation;

  it("is refused from another site, without its form token, with that of another page, or a changed one", async () => {
    const before = await pairs();
    const fields = hiddenIn((await operator.get(path())).html);
    for (const where of [
      ["sec-fetch-site", "same-site"],
      ["origin", "https://elsewhere.example"],
    ])
      expect(await operator.post(path(), fields, Object.fromEntries([where]))).toMatchObject({
        ...{ status: 403, text: expect.stringContaining("Nothing was done") },
      });
    const [[, token]] = fields as [[string, string]];
    const [[, ofAnother]] = hiddenIn((await operator.get("/refresh-all")).html) as [[string, string]];
    const [at, form, signature] = token.split(".") as [string, string, string];
    const wrong = [
      "",
      ofAnother,
      `${Number(at) + 1}.${form}.${signature}`,
      `${at}.${form}`,
      "x".repeat(5_000),
    ];
    for (const each of wrong) expect((await operator.post(path(), [["token", each]])).status).toBe(403);
    expect((await operator.post(path(), [])).status).toBe(403);
    expect([await operator.audit(), await pairs()]).toEqual([[], before]);
  });

  it("is valid for an hour", async () => {
    const ctx = operator.world.service.services;
    const tokenOf = (minutesAgo: number) =>
      tokenFor(ctx, purposeOf(ctx, path(), BY_PASSWORD), Math.floor(Date.now() / 1_000) - minutesAgo * 60);
    expect((await operator.post(path(), [["token", tokenOf(61)]])).status).toBe(403);
    expect((await operator.post(path(), [["token", tokenOf(59)]])).status).toBe(303);
    await operator.world.rows(`DELETE FROM operator_actions`);
  });

  it("that is sent twice is carried out once", async () => {
    const before = await pairs();
    const fields = hiddenIn((await operator.get(path())).html);
    const both = await Promise.all([operator.post(path(), fields), operator.post(path(), fields)]);
    expect(new Set(both.map(({ status, location }) => `${status} ${location}`)).size).toBe(1);
    expect((await operator.audit()).map(({ action }) => action)).toEqual(["refresh"]);
    await operator.post(path(), fields);
    expect(await operator.audit()).toHaveLength(1);
    expect(await pairs()).toBe(before + 1);
  });
});
