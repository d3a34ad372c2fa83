import { randomUUID } from "node:crypto";
import { Refusal } from "../../src/errors.ts";
import type { Extensions } from "../../src/extend/contract.ts";
import type { ExportLine } from "../../src/operator/export.ts";
import type { ResourcePage } from "../../src/operator/resource-list.ts";
import type { ResourceRecord } from "../../src/operator/resources.ts";
import type { Report } from "../../src/operator/work-through.ts";
import type { CustomerPage } from "../../src/people/contract.ts";
import { operator as scraper } from "../metrics/operator.ts";
import { aBrowser } from "../people/browser.ts";
import { SALT } from "../people/customers.ts";
import { aVendor, type Vendor } from "../support/a-vendor.ts";
import { kit, kitJson } from "../support/kit.ts";
import { eventually, opened } from "../support/world.ts";
import { aWorldOfAnOperator } from "./pages/operator.ts";

// Suspending a customer's resource: by the command line and by its page, and who then sees it.

const FUNCTIONS = { suspend: async () => undefined, resume: async () => undefined };
const vendor: Vendor & Extensions = { ...aVendor(), ...FUNCTIONS };
const customerPage: CustomerPage = ({ suspended }) => ({
  title: "A teapot",
  content: suspended ? `cold: ${suspended.reason}` : "warm",
});
let uuid: string;
const operator = opened(() =>
  aWorldOfAnOperator({
    sandbox: { ssoSalt: SALT },
    environment: { SSO_SALT: SALT },
    parts: { vendor, customerPage },
  }),
);
beforeEach(async () => {
  uuid = await operator.life.settled();
  await operator.world.forged.nothingIsLeftOf("operator_actions");
});
afterEach(() => void Object.assign(vendor, FUNCTIONS));

const UNPAID = "The bill of <October> is not paid.";
async function run(...words: string[]) {
  const { code, stdout } = await kit(operator.world.environment, [...words, "--json"], "", { vendor });
  return { code, data: JSON.parse(stdout) as Report };
}
const shown = async () =>
  (await kitJson<ResourceRecord>(operator.world.environment, ["resources", "show", uuid])).data;
async function suspended(reason = UNPAID): Promise<void> {
  expect(await run("suspend", uuid, "--reason", reason)).toMatchObject({ code: 0, data: { done: [uuid] } });
  await eventually(async () => expect(await shown()).toMatchObject({ suspended: { reason } }));
}

it("what the service refuses is among today's failures, with whom it was refused of", async () => {
  const refuse = () => {
    throw new Refusal("A teapot on fire is not put out.");
  };
  Object.assign(vendor, { suspend: refuse });
  await run("suspend", uuid, "--reason", UNPAID);
  const failedToday = async () => (await operator.get()).html.split("Failed today")[1]!;
  const named = `/operator/resources/${uuid}`;
  await eventually(async () =>
    expect(await failedToday()).toContain("refused by your service: these customers can still use it"),
  );
  expect(await failedToday()).toContain(named);
  Object.assign(vendor, FUNCTIONS);
  await suspended();
  Object.assign(vendor, { resume: refuse });
  await run("resume", uuid);
  await eventually(async () => expect(await failedToday()).toContain("these customers still cannot use it"));
  const { stdout } = await kit(operator.world.environment, ["stats"]);
  expect(stdout).toMatch(/1 suspensions? .*can still use it/);
});

describe("an operator's command", () => {
  it("suspends and resumes what is named, says why it did not for the rest, and is in the audit trail", async () => {
    const gone = await operator.life.settled();
    await operator.control.deprovision(gone);
    const unknown = randomUUID();
    const { code, data } = await run("suspend", uuid, gone, unknown, "--reason", UNPAID);
    expect([code, data]).toMatchObject([1, { done: [uuid], skipped: [] }]);
    expect(Object.fromEntries(data.failed.map((each) => [each.uuid, each.id]))).toEqual({
      [gone]: "not_provisioned",
      [unknown]: "not_found",
    });
    const begun = `kit suspend ${uuid} ${gone} ${unknown} --reason`;
    expect(await operator.audit()).toMatchObject([
      {
        action: expect.stringContaining(begun),
        state: "failed",
        message: "1 asked for, 2 failed, 0 skipped.",
      },
    ]);
    await eventually(async () => expect(await shown()).toMatchObject({ suspended: { reason: UNPAID } }));
    expect(await run("suspend", uuid, "--reason", UNPAID)).toMatchObject({
      code: 0,
      data: { skipped: [{ uuid, reason: "suspended for this reason already" }] },
    });
    expect(await run("suspend", uuid, "--reason", "Abuse.")).toMatchObject({ data: { done: [uuid] } });
    expect(await shown()).toMatchObject({ suspended: { reason: "Abuse." } });
    expect(await run("resume", uuid)).toMatchObject({ code: 0, data: { done: [uuid] } });
    await eventually(async () => expect(await shown()).toMatchObject({ suspended: null }));
    const again = { code: 0, data: { skipped: [{ uuid, reason: "not suspended" }] } };
    expect(await run("resume", uuid)).toMatchObject(again);
    const { stdout } = await kit(operator.world.environment, ["resources", "show", uuid]);
    expect(stdout).toMatch(
      /suspension_asked {2}by operator, reason The bill.*\n.*suspended\n.*suspend_reason_changed.*Abuse\.\n.*resume_asked {2}by operator\n.*resumed/,
    );
  });

  it.each<[string, string[], number, string]>([
    ["no reason", ["suspend", "UUID"], 2, "--reason"],
    ["an empty reason", ["suspend", "UUID", "--reason", "  "], 2, "must be a sentence for the customer"],
    ["a long reason", ["suspend", "UUID", "--reason", "x".repeat(301)], 2, "of 1 to 300 characters"],
    ["no resource", ["suspend", "--reason", "x"], 2, "missing required argument"],
    ["what is no uuid", ["resume", "teapot"], 2, "teapot"],
  ])("with %s changes nothing, and says what is wrong", async (_what, words, code, says) => {
    const typed = words.map((word) => (word === "UUID" ? uuid : word));
    const said = await kit(operator.world.environment, typed, "", { vendor });
    expect([said.code, said.stderr]).toEqual([code, expect.stringContaining(says)]);
    expect(await operator.life.events(uuid)).not.toContain("suspension_asked");
  });

  it("finds what is suspended, and shows it", async () => {
    await suspended();
    const listed = async (...words: string[]) =>
      kitJson<ResourcePage>(operator.world.environment, ["resources", "list", ...words]);
    const it = { uuid, state: "provisioned", suspended: { reason: UNPAID } };
    for (const words of [["--suspended"], ["--state", "suspended"], ["--suspended", "--state", "active"]])
      expect((await listed(...words, "--search", uuid)).data).toMatchObject({ total: 1, resources: [it] });
    expect((await listed("--suspended", "--state", "failed", "--search", uuid)).data.resources).toEqual([]);
    await run("resume", uuid);
    await eventually(async () =>
      expect((await listed("--suspended", "--search", uuid)).data.resources).toEqual([]),
    );
    await suspended();
    const { stdout } = await kit(operator.world.environment, ["resources", "list", "--suspended"]);
    expect(stdout).toMatch(new RegExp(`${uuid} .* provisioned, suspended`));
    const show = await kit(operator.world.environment, ["resources", "show", uuid]);
    expect(show.stdout).toMatch(/state +provisioned\n +suspended since +\d{4}-.*\n +reason +The bill/);
    const events = await kit(operator.world.environment, ["events", "--type", "suspended"]);
    expect(events.stdout).toContain(`suspended             ${operator.control.addon(uuid).name}`);
    const samples = await scraper(operator.world).samples();
    expect(samples.get("addon_suspended")).toBeGreaterThan(0);
  });

  it("exports that a resource is suspended, and imports it again", async () => {
    await suspended();
    const { stdout } = await kit(operator.world.environment, ["resources", "export", uuid], "", { vendor });
    const line = JSON.parse(stdout) as ExportLine;
    expect(line).toMatchObject({ suspended: { reason: UNPAID } });
    const moved = randomUUID();
    const bad = { ...line, uuid: randomUUID(), suspended: { since: "yesterday", reason: "x" } };
    const input = [{ ...line, uuid: moved }, bad].map((each) => JSON.stringify(each)).join("\n");
    const { data } = await kitJson(operator.world.environment, ["resources", "import"], input);
    expect(data).toMatchObject({ imported: 1, skipped: [{ line: 2, reason: "bad_text" }] });
    const { data: imported } = await kitJson<ResourceRecord>(operator.world.environment, [
      ...["resources", "show", moved],
    ]);
    expect(imported.suspended).toEqual(line.suspended);
  });
});

describe("the pages", () => {
  it("of a resource suspend it for a reason, and resume it; the list marks and finds it", async () => {
    const page = await operator.get(`/resources/${uuid}`);
    expect(page.html).toContain(`/resources/${uuid}/suspend">Suspend it`);
    expect(page.html).not.toContain("Resume it");
    expect((await operator.get(`/resources/${uuid}/suspend`)).text).toContain("cannot use it");
    const bad = await operator.press(`/resources/${uuid}/suspend`, [["reason", " "]]);
    expect([bad.status, bad.text]).toEqual([400, expect.stringContaining("must be a sentence")]);
    const { text } = await operator.done(`/resources/${uuid}/suspend`, [["reason", UNPAID]]);
    expect(text).toMatch(/done.*1 asked for, 0 failed, 0 skipped/);
    await eventually(async () => {
      const { text: now } = await operator.get(`/resources/${uuid}`);
      expect(now).toMatch(/Suspended since .* Reason The bill of <October> is not paid\./);
      expect(now).toContain("Resume it");
    });
    const list = await operator.get(`/resources?state=suspended&text=${uuid}`);
    expect(list.text).toMatch(/1 resource .*provisioned suspended/);
    expect((await operator.get(`/resources?suspended=yes`)).status).toBe(400);
    await operator.done(`/resources/${uuid}/resume`);
    await eventually(async () =>
      expect((await operator.get(`/resources?state=suspended&text=${uuid}`)).text).toContain("0 resources"),
    );
    expect(await operator.audit()).toMatchObject([{ action: "suspend" }, { action: "resume" }]);
  });

  it("of the customer say that it is suspended and why, also where the vendor's page fails", async () => {
    const browser = aBrowser(operator.url);
    const { form } = operator.control.signOnForm(uuid);
    await browser.post("/sso/login", {}, new URLSearchParams(form));
    const read = async () => (await browser.get(`/customer/${uuid}`)).text;
    expect(await read()).toMatch(/warm(?![\s\S]*Suspended)/);
    await suspended(`${UNPAID}\u202e`);
    const page = await read();
    expect(page).toContain("cold: The bill of &lt;October> is not paid.\\u202e");
    expect(page).toMatch(
      /Suspended<\/span> <bdi>The bill of &lt;October> is not paid\.\\u202e<\/bdi><small>Since <time/,
    );
    expect((await operator.get(`/resources/${uuid}/customer`)).text).toContain("Suspended The bill");
  });
});

it("a service without the functions says what to write", async () => {
  delete vendor.suspend;
  delete vendor.resume;
  const { code, data } = await run("suspend", uuid, "--reason", UNPAID);
  expect([code, data]).toMatchObject([1, { failed: [{ uuid, id: "no_suspension" }] }]);
  const { text, html } = await operator.get(`/resources/${uuid}/suspend`);
  expect(text).toContain("returns no suspend and resume");
  expect(html).not.toContain(`<button type="submit">`);
});

it.each<[string, object]>([
  ["suspends and cannot resume", { suspend: async () => undefined }],
  ["resumes and cannot suspend", { resume: async () => undefined }],
])("a service that %s does not start", async (_what, functions) => {
  const half = { ...aVendor(), ...functions };
  const said = await kit(operator.world.environment, ["action", "list"], "", { vendor: half });
  expect([said.code, said.stderr]).toEqual([
    78,
    expect.stringContaining("return both, suspend and resume, or none"),
  ]);
});
