import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { described } from "../../../test/support/openapi.ts";
import { startSandbox } from "../index.ts";
import { anAssistant, aProcess, hello } from "./mcp-process.ts";
import { aPartner, type PartnerRequest, success } from "./partner.ts";
import { manifest } from "./world.ts";

// `sandbox mcp` as a real process, as an assistant has it.

type Assistant = Awaited<ReturnType<typeof anAssistant>>;
type Page = {
  entries: { seq: number; method: string; path: string; response: { status: number } }[];
  next: number;
};

const closing: (() => unknown)[] = [];
/** Most tests share a process, in which each starts the sandbox that it needs. */
let shared: Assistant;
beforeAll(async () => {
  shared = await anAssistant();
});
afterAll(() => shared.close());
afterEach(async () => {
  await shared.use("stopSandbox");
  for (const close of closing.splice(0).reverse()) await close();
});

async function partner() {
  const made = await aPartner();
  closing.push(() => made.close());
  return made;
}
function aLineProcess(settings?: Record<string, string>) {
  const made = aProcess(settings);
  closing.push(() => made.kill());
  return made;
}

/** A partner that exchanges its grant, and at a plan change reads its add-on; a refused token is refreshed. */
async function aLivePartner(platform: () => string, clientSecret: () => string) {
  const service = await partner();
  const tokens = new Map<string, { access_token: string; refresh_token: string }>();
  const issue = async (uuid: string, form: Record<string, string>) => {
    const body = new URLSearchParams({ ...form, client_secret: clientSecret() });
    const response = await fetch(`${platform()}/oauth/token`, { method: "POST", body });
    tokens.set(uuid, (await response.json()) as { access_token: string; refresh_token: string });
  };
  const read = (uuid: string) =>
    fetch(`${platform()}/addons/${uuid}`, {
      headers: {
        authorization: `Bearer ${tokens.get(uuid)!.access_token}`,
        accept: "application/vnd.svc+json; version=3",
      },
    });
  const follow = async ({ method, path: address, body }: PartnerRequest) => {
    if (method === "POST") {
      const { uuid, oauth_grant } = JSON.parse(body) as { uuid: string; oauth_grant: { code: string } };
      await issue(uuid, { grant_type: "authorization_code", code: oauth_grant.code });
    } else if (method === "PUT") {
      const uuid = address.split("/").at(-1)!;
      if ((await read(uuid)).status !== 401) return;
      await issue(uuid, { grant_type: "refresh_token", refresh_token: tokens.get(uuid)!.refresh_token });
      await read(uuid);
    }
  };
  const following: Promise<void>[] = [];
  service.answers((request) => {
    // After the answer, without which a grant cannot be exchanged.
    setImmediate(() => setImmediate(() => following.push(follow(request))));
    return success(request);
  });
  closing.push(() => Promise.all(following));
  return service;
}

it("an assistant installs the add-on, sees its grant exchanged, revokes its token and sees it refreshed", async () => {
  const { ask, use } = shared;
  let url = "";
  const clientSecret = "the-client-secret-of-this-test";
  const service = await aLivePartner(
    () => url,
    () => clientSecret,
  );
  const settings = { addonManifest: manifest, partnerUrl: service.url, clientSecret };
  const started = await ask<{ url: string; generated: object }>("startSandbox", settings);
  url = started.url;
  expect(started.generated).toEqual({ ADDON_ID: "widgets", ADDON_PASSWORD: expect.any(String) });
  await ask("createApp", { name: "shop" });
  type Installed = { addon: { id: string; state: string } };
  const { addon } = await ask<Installed>("install", { app: "shop", plan: "basic" });
  expect(addon.state).toBe("provisioned");
  const seen = await ask<Page>("ledger", { match: "POST /oauth/token", status: "2xx", wait: 60 });
  expect(seen.entries).toMatchObject([{ method: "POST", path: "/oauth/token" }]);
  expect(await ask("addon", { id: addon.id })).toMatchObject({ tokens: [{ state: "valid" }] });

  expect(await ask("revoke", { id: addon.id, token: "access" })).toMatchObject({
    tokens: [{ state: "revoked" }],
  });
  await ask("changePlan", { id: addon.id, plan: "premium" });
  const refused = { since: seen.next, match: "GET /addons/*", status: "401", wait: 60 };
  expect((await ask<Page>("ledger", refused)).entries).toHaveLength(1);
  await ask("ledger", { since: seen.next, match: "POST /oauth/token", wait: 60 });
  await ask("ledger", { since: seen.next, match: "GET /addons/*", status: "200", wait: 60 });
  expect(await ask("addon", { id: addon.id })).toMatchObject({
    plan: { name: "widgets:premium" },
    tokens: [{ state: "revoked" }, { state: "valid" }],
  });
  const { text } = await use("ledger");
  expect(text).not.toContain(clientSecret);
});

it("has a tool for each call of the control API, and three that choose the sandbox", async () => {
  const tools = await shared.tools();
  const calls = described("packages/sandbox/control-api.yaml").ids();
  expect(tools.map(({ name }) => name).sort()).toEqual(
    [...calls, "startSandbox", "attachSandbox", "stopSandbox"].sort(),
  );
  for (const { name, description, inputSchema, annotations } of tools) {
    expect([name, description]).toEqual([name, expect.stringMatching(/^[A-Z][^\n]+\.(\n|$)/)]);
    expect([name, inputSchema]).toEqual([
      name,
      expect.objectContaining({ type: "object", additionalProperties: false }),
    ]);
    expect(JSON.stringify(inputSchema)).not.toContain("$ref");
    for (const [argument, schema] of Object.entries(inputSchema.properties))
      expect([name, argument, schema]).toEqual([
        ...[name, argument, expect.objectContaining({ description: expect.stringMatching(/\.$/) })],
      ]);
    expect(Object.keys(inputSchema.properties ?? {})).not.toContain("reveal");
    expect(annotations).toMatchObject({ openWorldHint: false });
  }
  const hinted = (hint: "readOnlyHint" | "destructiveHint") =>
    tools.flatMap(({ name, annotations }) => (annotations?.[hint] ? [name] : [])).sort();
  expect(hinted("readOnlyHint")).toEqual(
    ["addon", "app", "configVars", "faults", "health", "ledger", "state"].sort(),
  );
  expect(hinted("destructiveHint")).toEqual(
    [
      ...["changePartner", "changePlan", "clearFaults", "deprovision", "destroyApp"],
      ...["reset", "resetClientSecret", "revoke", "stopSandbox"],
    ].sort(),
  );
});

it.each(["2024-11-05", "2025-11-25"])(
  "speaks the protocol's version %s, and writes nothing but its messages",
  async (version) => {
    const { ask, notify, lines } = aLineProcess();
    expect((await ask("initialize", hello(version))).result).toMatchObject({
      protocolVersion: version,
      serverInfo: { name: "addon-platform-sandbox" },
      capabilities: { tools: {} },
    });
    notify("notifications/initialized");
    expect(await ask("ping")).toMatchObject({ result: {} });
    await ask("tools/call", { name: "startSandbox", arguments: {} });
    await ask("tools/call", { name: "install", arguments: { app: "none" } });
    expect(lines.map((line) => (JSON.parse(line) as { jsonrpc: string }).jsonrpc)).toEqual(
      lines.map(() => "2.0"),
    );
  },
);

it("speaks the version of 2026, which has no handshake", async () => {
  const { ask } = aLineProcess();
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  expect((await ask("server/discover", { _meta })).result).toMatchObject({
    supportedVersions: ["2026-07-28"],
  });
  const { result } = await ask("tools/call", { _meta, name: "state", arguments: {} });
  expect(result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("startSandbox") }],
  });
});

it("offers a version that it speaks to a client with one that it does not, and survives a line that is no message", async () => {
  const { ask, write } = aLineProcess();
  write("nonsense\n{}\n");
  const { result } = await ask("initialize", hello("1999-01-01"));
  expect(result).toMatchObject({ protocolVersion: expect.stringMatching(/^202\d-\d\d-\d\d$/) });
});

it.each([
  ["state", {}, /^There is no sandbox yet\. Start one with startSandbox/],
  ["stopSandbox", {}, /^There is no sandbox to stop/],
  ["install", { app: "shop", plans: "basic" }, /there is no argument plans; there are app, plan, /],
  ["install", {}, /app/],
  ["revoke", { id: "a", token: "both" }, /token must be equal to one of the allowed values/],
  ["startSandbox", { port: 70_000 }, /port must be <= 65535/],
  ["startSandbox", { addonManifest: "{" }, /addonManifest/],
  ["attachSandbox", { url: "http://example.com" }, /is not on this machine\. .* set SANDBOX_URL/],
  ["attachSandbox", { url: "nowhere" }, /^nowhere is not the http address/],
])("%s %j is refused in a sentence", async (name, given, sentence) => {
  const { text, isError } = await shared.use(name, given);
  expect({ text, isError }).toEqual({ text: expect.stringMatching(sentence), isError: true });
});

it("refuses a tool that it does not have, and passes on what the sandbox refuses", async () => {
  const { use } = shared;
  await expect(use("format")).rejects.toThrow("Tool format not found");
  await use("startSandbox", { addonManifest: manifest });
  expect(await use("startSandbox")).toEqual({
    isError: true,
    text: expect.stringMatching(/runs already on http/),
  });
  await use("createApp", { name: "shop" });
  expect(await use("install", { app: "shop", plan: "gold" })).toEqual({
    isError: true,
    text: expect.stringMatching(
      /^The sandbox refused the call with 422 .*no plan gold; its plans are basic, premium/,
    ),
  });
  expect(await use("destroyApp", { app: ".." })).toEqual({
    isError: true,
    text: expect.stringMatching(/must be an id or a name/),
  });
  expect(await use("app", { app: "shop" })).toMatchObject({ isError: false });
});

it("answers a call while another waits for the service", async () => {
  const { ask } = shared;
  const service = await partner();
  let answer = () => {};
  const waits = new Promise<void>((resolve) => (answer = resolve));
  service.answers(async (request) => (await waits, success(request)));
  await ask("startSandbox", { partnerUrl: service.url });
  await ask("createApp", { name: "shop" });
  const install = ask<{ addon: { state: string } }>("install", { app: "shop" });
  type State = { addons: { state: string }[] };
  let state = await ask<State>("state");
  while (state.addons.length === 0) state = await ask<State>("state");
  expect(state.addons).toMatchObject([{ state: "provisioning" }]);
  answer();
  expect((await install).addon.state).toBe("provisioned");
});

it("ends when the client closes its input, while a call is under way, and leaves nothing but the state file", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "mcp-"));
  closing.push(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, "state.json");
  const service = await partner();
  service.answers(() => new Promise(() => {}));
  const { ask, closeInput, ended } = aLineProcess({ SANDBOX_STATE: file, PARTNER_URL: service.url });
  await ask("initialize", hello("2025-11-25"));
  const { result } = await ask("tools/call", { name: "startSandbox", arguments: {} });
  const [{ text }] = result!["content"] as [{ text: string }];
  const { url } = JSON.parse(text) as { url: string };
  await ask("tools/call", { name: "createApp", arguments: { name: "shop" } });
  void ask("tools/call", { name: "install", arguments: { app: "shop" } });
  await ask("tools/call", { name: "ledger", arguments: { wait: 1 } });
  closeInput();
  expect(await ended).toEqual([0, null]);
  await expect(fetch(url)).rejects.toThrow("fetch failed");
  expect(readFileSync(file, "utf8")).toContain("shop");
  expect(existsSync(`${file}.lock`)).toBe(false);
});

it("shows a long ledger in pages that fit, and shortens any other answer that is too long", async () => {
  const { ask, use } = shared;
  const service = await partner();
  const { url } = await ask<{ url: string }>("startSandbox", { partnerUrl: service.url });
  const long = `/apps/${"a".repeat(6000)}`;
  for (let count = 0; count < 30; count++) await fetch(url + long);
  const seen: number[] = [];
  for (let since = 0; seen.length < 30;) {
    const { text } = await use("ledger", { since, limit: 100 });
    expect(text.length).toBeLessThanOrEqual(40_000);
    const page = JSON.parse(text) as Page;
    seen.push(...page.entries.map(({ seq }) => seq));
    since = page.next;
  }
  expect(seen).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));

  for (let count = 0; count < 80; count++) await ask("createApp");
  const { text } = await use("state");
  expect(text.length).toBeLessThanOrEqual(40_000);
  expect(JSON.parse(text)).toMatchObject({ addons: [] });
  expect(text).toMatch(/… \(\d+ items more\)/);
});

it("acts on a sandbox that runs elsewhere, with its token, and leaves it running", async () => {
  const token = "a-token-of-this-test";
  const sandbox = await startSandbox({ token });
  closing.push(() => sandbox.close());
  const { close, ask } = await anAssistant({ SANDBOX_URL: sandbox.url, SANDBOX_TOKEN: token });
  await ask("createApp", { name: "shop" });
  expect(sandbox.control.state().apps).toMatchObject([{ name: "shop" }]);
  expect(await ask("stopSandbox")).toMatchObject({ left: sandbox.url });
  await close();
  expect(
    (await fetch(`${sandbox.url}/sandbox/health`, { headers: { authorization: `Bearer ${token}` } })).status,
  ).toBe(200);

  expect(await shared.use("attachSandbox", { url: sandbox.url })).toMatchObject({
    isError: true,
    text: expect.stringMatching(/401 .*SANDBOX_TOKEN in the configuration/),
  });
});
