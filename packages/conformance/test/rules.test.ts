import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import picocolors from "picocolors";
import { good, type Habits } from "../examples/service/service.ts";
import { readOptions, UsedWrongly } from "../options.ts";
import { readSettings } from "../read-settings.ts";
import { humanReport } from "../report/human.ts";
import { jsonReport } from "../report/json.ts";
import { junitReport } from "../report/junit.ts";
import { isFit, type Report } from "../report/report.ts";
import { chosenRules, rules } from "../rules/index.ts";
import { sourceOf } from "../sections.ts";
import type { Stage } from "../stage/stage.ts";
import * as answers from "./broken/answers.ts";
import type { BrokenService } from "./broken/break.ts";
import * as lives from "./broken/lives.ts";
import * as refreshes from "./broken/refreshes.ts";
import * as tokens from "./broken/tokens.ts";
import { exampleSettings, isFault, judgedExample } from "./judged.ts";

const refused = { status: 409, body: { id: "not_ready", message: "Not yet." } };
const plainText = picocolors.createColors(false);
const find = (id: string) => rules.find((rule) => rule.id === id)!;
const report: Report = {
  url: "http://127.0.0.1:3000",
  ms: 1000,
  ...{ left: [], unreached: 0 },
  verdicts: [
    { rule: find("AUTH-01"), status: "passed", reason: null, ms: 1 },
    { rule: find("AUTH-02"), status: "failed", reason: "A wrong password\u001b[2J got in.", ms: 1 },
    { rule: find("AUTH-08"), status: "failed", reason: "The body was read.", ms: 1 },
    { rule: find("EXCH-03"), status: "skipped", reason: "a grant has to be exchanged first.", ms: 1 },
    ...["SSO-01", "SSO-02"].map((id) => ({
      ...{ rule: find(id), status: "not_applicable" as const, ms: 1 },
      reason: "no sign-on salt was given (SSO_SALT).",
    })),
  ],
};

describe("the conformance rules", () => {
  it("are listed in the README with their titles, and counted in the kit's", () => {
    const page = readFileSync(new URL("../README.md", import.meta.url), "utf8");
    const untold = rules.filter(({ id, title }) => !page.includes(id) || !page.includes(title));
    expect(untold.map(({ id }) => id)).toEqual([]);
    const named = [...page.matchAll(/\b[A-Z]+-\d\d\b/g)].map(([id]) => id);
    expect(named.filter((id) => !rules.some((rule) => rule.id === id))).toEqual([]);
    const [, count] = /conformance\/README\.md\) check with (\d+) rules/.exec(
      readFileSync(new URL("../../../README.md", import.meta.url), "utf8"),
    )!;
    expect(count).toBe(String(rules.length));
  });

  it("each have a place that demands them: a must the document's with its words, an RFC's section, or a ruling", () => {
    const words = /^platform document, "[^"]+": "[^"]{8,}"/;
    const standard = /^RFC \d{4}, section \d/;
    const ruling =
      /^ruled, as the platform's document does not say: docs\/assumed\.md, section ([1-8]) \((.+)\)/;
    const chapters = readFileSync(new URL("../../../docs/assumed.md", import.meta.url), "utf8");
    const unfounded = rules.filter(({ section }) => {
      const [, chapter, title] = ruling.exec(section) ?? [];
      const isRuled = chapter !== undefined && chapters.includes(`\n## ${chapter}. ${title}\n`);
      return !isRuled && !words.test(section) && !standard.test(section);
    });
    expect(unfounded.map(({ id }) => id)).toEqual([]);
    const sources = { document: words, standard, ruled: ruling };
    const misnamed = rules.filter(({ section }) => !sources[sourceOf(section)].test(section));
    expect(misnamed.map(({ id }) => id)).toEqual([]);
  });

  it("expect no config vars from an add-on that declares none", async () => {
    const manifest = { id: "silent", plans: [{ name: "basic" }], config_vars: [] };
    const stage = { settings: { manifest, asyncPlan: "basic" } } as unknown as Stage;
    for (const id of ["ASYNC-04", "ASYNC-05", "ASYNC-06"])
      await expect(async () => find(id).check(stage, [])).rejects.toThrow("declares no config vars");
  });

  it("are each failed by a broken service in these tests", () => {
    const faults = [answers, lives, tokens, refreshes].flatMap((services) =>
      Object.values<BrokenService>(services).flat(),
    );
    const broken = new Set(faults.map(({ rule }) => rule));
    expect(rules.filter(({ id }) => !broken.has(id)).map(({ id }) => id)).toEqual([]);
    expect(faults.filter(({ rule }) => !find(rule))).toEqual([]);
  });

  it("can be selected by id or group, and an unknown name is refused", () => {
    expect(chosenRules(["auth-03"]).map(({ id }) => id)).toEqual(["AUTH-03"]);
    expect(chosenRules(["TOMB"]).length).toBeGreaterThan(3);
    expect(() => chosenRules(["AUTH-99"])).toThrow("There is no rule AUTH-99");
  });
});

// They mostly wait, so they run at the same time.
describe("judging", () => {
  it.concurrent(
    "finds no fault in the example service",
    async () => {
      const verdicts = await judgedExample();
      expect(
        verdicts.filter(({ status }) => status !== "passed").map(({ rule, reason }) => [rule.id, reason]),
      ).toEqual([]);
    },
    600_000,
  );

  it.concurrent(
    "finds no fault in an unusual but correct service: no config vars, no manifest, queries in addresses, a list in Accept with a suffix of the version, a common word as password, extra members and two schemes in a 401, 501 for other methods, a trailer",
    async () => {
      const trailing = { trailer: "x-checksum", "transfer-encoding": "chunked" };
      const unusual: Habits = {
        ...good,
        unauthorized(request, isKnown) {
          const answer = good.unauthorized(request, isKnown);
          const headers = { "www-authenticate": `Bearer, ${answer.headers!["www-authenticate"]}` };
          return {
            ...answer,
            headers,
            body: { ...answer.body, request_id: randomUUID(), path: request.path },
          };
        },
        provisioned: (uuid) => ({ status: 200, body: { id: uuid }, headers: trailing }),
        changed: () => ({ status: 200, body: {} }),
        otherMethod: () => ({ status: 501, body: { id: "not_implemented", message: "Unsupported method." } }),
        finish: (uuid, config) =>
          good
            .finish(uuid, config)
            .flatMap((call) => (call.body ? [] : { ...call, path: `${call.path}?trace=1` })),
        request: (url, form, kind) => ({ ...good.request(url, form, kind), url: `${url}?trace=1` }),
        apiHeaders: (resource, settings) => ({
          ...good.apiHeaders(resource, settings),
          accept: 'application/vnd.svc+json; charset=utf-8; version="3.sdk", */*;q=0.1',
        }),
      };
      const verdicts = await judgedExample(unusual, rules, { manifest: null, addonPassword: "password" });
      expect(
        verdicts.filter(({ status }) => isFault(status)).map(({ rule, reason }) => [rule.id, reason]),
      ).toEqual([]);
    },
    600_000,
  );

  it.concurrent(
    "finds no fault in a service that does each thing late, but in time, and changes only what is ready",
    async () => {
      const calls = new Map<string, number>();
      const late: Habits = {
        ...good,
        ...{ worksAfterMs: 4_000, waitMs: () => 4_000, takesItsTime: () => true },
        apiHeaders(resource, settings) {
          calls.set(resource.uuid, (calls.get(resource.uuid) ?? 0) + 1);
          return good.apiHeaders(resource, settings);
        },
        changed: (resource, plan) =>
          (calls.get(resource.uuid) ?? 0) < 2 ? refused : good.changed(resource, plan),
      };
      // Far more than four seconds, so that a loaded machine is in time too; and slower than that.
      const patience = { ...exampleSettings.patience, eventMs: 10_000, slowMs: 11_000 };
      const verdicts = await judgedExample(late, rules, { patience });
      const faults = verdicts.filter(({ status }) => isFault(status));
      // That a resource changes before its exchange is asked of it too.
      expect(faults.map(({ rule, reason }) => [rule.id, reason])).toEqual([["PLAN-08", expect.any(String)]]);
    },
    600_000,
  );

  it.concurrent(
    "finds no fault by a rule that is selected alone",
    async () => {
      const [verdict] = await judgedExample(good, [find("TOK-05")]);
      expect(verdict).toMatchObject({ status: "passed", reason: null });
    },
    600_000,
  );

  it.concurrent(
    "finds no fault where the password has characters outside ASCII, sent as UTF-8 in Basic",
    async () => {
      const judgedBy = rules.filter(({ id }) => /^AUTH-/.test(id));
      const addonPassword = "€uro-pass-日本-123";
      const verdicts = await judgedExample(good, judgedBy, { addonPassword });
      expect(
        verdicts.filter(({ status }) => status !== "passed").map(({ rule, reason }) => [rule.id, reason]),
      ).toEqual([]);
    },
    600_000,
  );
});

describe("the report", () => {
  it("fits 80 columns, and escapes control characters of the service", () => {
    const text = humanReport(report, plainText);
    expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
    expect(text).not.toContain("\u001b");
    expect(text).toContain("→ Compare the password");
    expect(text).toContain("\nBroken: AUTH-02.\n");
    expect(text).toContain("  – SSO-01 to SSO-02: not applicable: no sign-on salt was given (SSO_SALT).\n");
    const skipped = report.verdicts.filter(({ status }) => status === "skipped");
    const twice = { ...report, verdicts: [...skipped, { ...skipped[0]!, rule: find("EXCH-04") }] };
    const once = "  – EXCH-03 to EXCH-04: skipped: a grant has to be exchanged first.\n";
    expect(humanReport(twice, plainText)).toContain(once);
  });

  const fitness = (...ids: string[]) => {
    const part = { ...report, verdicts: report.verdicts.filter(({ rule }) => ids.includes(rule.id)) };
    const [told] = /^(Every must|The service is|Nothing could).*$/m.exec(humanReport(part, plainText)) ?? [];
    return [isFit(part), told];
  };

  it("calls a service unfit only for a failed must rule, and says when nothing could be judged", () => {
    const holds = "Every must-rule that could be judged holds.";
    expect(fitness("AUTH-01", "AUTH-08", "EXCH-03", "SSO-01")).toEqual([true, holds]);
    expect(fitness("AUTH-08")).toEqual([true, holds]);
    expect(fitness("AUTH-01", "AUTH-02")).toEqual([false, "The service is not fit for the platform yet."]);
    for (const ids of [["EXCH-03"], ["SSO-01"], []])
      expect(fitness(...ids)).toEqual([false, "Nothing could be judged."]);
  });

  it("counts an error in the checker against nobody, and calls no service fit then", () => {
    const reason = "the checker failed: it could not read something.";
    const failed = { rule: find("AUTH-03"), status: "checker_failed" as const, reason, ms: 1 };
    const passed = report.verdicts.slice(0, 1);
    const part = { ...report, verdicts: [...passed, failed] };
    expect(isFit(part)).toBe(false);
    expect(jsonReport(part)).toMatchObject({ ok: false, broken: 0, checkerFailed: 1 });
    const text = humanReport(part, plainText);
    expect(text).toContain(`  ? AUTH-03  ${find("AUTH-03").title}\n      Could not be judged: ${reason}\n`);
    expect(text).toContain("\nNot all could be judged: the checker failed.\n");
    expect(text).not.toContain("Broken:");
    const xml = junitReport(part);
    expect([/<error/g, /<failure/g, /<skipped/g].map((mark) => xml.match(mark)?.length ?? 0)).toEqual([
      1, 0, 0,
    ]);
    expect(isFit({ ...report, verdicts: [failed] })).toBe(false);
  });

  it("as JUnit has one failure and three skipped tests", () => {
    const xml = junitReport(report);
    expect(xml.match(/<failure/g)).toHaveLength(1);
    expect(xml.match(/<skipped/g)).toHaveLength(3);
  });
});

describe("options of npm run conformance", () => {
  const read = (words: string[], env = {}, password = "") =>
    readSettings(readOptions(words)!, env, () => Promise.resolve(password));

  it("are refused when unknown or incomplete", async () => {
    expect(() => readOptions(["--no-such-option"])).toThrow(UsedWrongly);
    await expect(read([])).rejects.toThrow("--url");
    await expect(read(["--url", "http://127.0.0.1:1", "--id", "x"])).rejects.toThrow("password is missing");
    await expect(
      read(["--url", "http://127.0.0.1:1", "--id", "x", "--patience", "0"], {}, "p"),
    ).rejects.toThrow("--patience");
  });

  it("use the secrets of the environment only for the add-on of the environment", async () => {
    const env = { ADDON_ID: "mine", ADDON_PASSWORD: "my-password", CLIENT_SECRET: "my-secret" };
    const mine = await read(["--url", "http://127.0.0.1:1"], env);
    expect(mine).toMatchObject({ addonPassword: "my-password", clientSecret: "my-secret" });
    const other = await read(["--url", "http://127.0.0.1:1", "--id", "other"], env, "piped\n");
    expect(other).toMatchObject({ addonPassword: "piped", clientSecret: null });
  });

  it("are refused with the reason when an address or manifest is invalid", async () => {
    const words = ["--url", "http://127.0.0.1:1", "--id", "mine", "--password", "p"];
    const elsewhere = await read([...words, "--platform-url", "http://judge.example.com:4000/"]);
    expect(elsewhere).toMatchObject({ platformUrl: "http://judge.example.com:4000" });
    for (const wrong of ["--platform-url", "--resources-path", "--sso-path"])
      await expect(read([...words, wrong, "judge"])).rejects.toThrow(UsedWrongly);
    for (const manifest of ['{"id": "mine"}', '{"id": "mine", "plans": [null]}', '{"id": '])
      await expect(read([...words, "--manifest", manifest])).rejects.toThrow(UsedWrongly);
  });

  it("are completed from the manifest with an offered region and a plan to change to", async () => {
    const plans = ["small", "large", "huge", "slow"].map((name) => ({ name }));
    const manifest = JSON.stringify({ id: "mine", plans, default_plan: "large", regions: ["eu", "tokyo"] });
    const words = ["--url", "http://127.0.0.1:1", "--id", "mine", "--password", "p"];
    const sold = [...words, "--manifest", manifest, "--async-plan", "slow"];
    expect(await read(sold)).toMatchObject({ region: "eu", plan: "large", otherPlan: "huge" });
    expect(await read([...sold, "--plan", "huge"])).toMatchObject({ otherPlan: "small" });
    const two = JSON.stringify({ id: "mine", plans: [{ name: "small" }, { name: "slow" }] });
    const onlyLater = [...words, "--manifest", two, "--async-plan", "slow"];
    expect(await read(onlyLater)).toMatchObject({ plan: "small", otherPlan: "slow" });
    expect(await read([...sold, "--region", "tokyo"])).toMatchObject({ region: "tokyo" });
    expect(await read(words)).toMatchObject({ region: "us", plan: "basic", otherPlan: null });
  });
});
