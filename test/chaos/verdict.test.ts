import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { LedgerEntry, Sandbox } from "../../packages/sandbox/index.ts";
import { Secret } from "../../src/secret.ts";
import { createVault, type Vault } from "../../src/vault/vault.ts";
import { createHistory } from "../../workshop/chaos/history.ts";
import { exitCodeOf, report } from "../../workshop/chaos/report.ts";
import { judge } from "../../workshop/chaos/verdict.ts";
import { aServer } from "../platform/local-server.ts";

// A run without a fault, and what the verdict must report for each fault.

const KEY = "a key that is long enough for a vault";
const KEPT = "11111111-1111-4111-8111-111111111111";
const GONE = "22222222-2222-4222-8222-222222222222";
const TOKEN = "SVCK-0123456789abcdef-0123456789abcdef";
const CONFIG = [{ name: "TEAPOT_TOKEN", value: "0123456789abcdef0123456789abcdef" }];
const MESSAGE = { id: "teapot", message: "Ready." };

let platform: string;
let folder: string;
let vault: Vault;
/** What the platform shows of the kept resource. */
let theirConfig = CONFIG;
beforeAll(async () => {
  vault = await createVault({ encryptionKey: new Secret(KEY) });
  folder = await mkdtemp(path.join(tmpdir(), "chaos-verdict-"));
  await writeFile(path.join(folder, "service.log"), "Ready\n");
  ({ url: platform } = await aServer(({ headers }, response) => {
    response.writeHead(headers.authorization === `Bearer ${TOKEN}` ? 200 : 401);
    response.end(JSON.stringify(theirConfig));
  }));
});
afterAll(() => rm(folder, { recursive: true }));

const START = Date.parse("2026-01-01T00:00:00.000Z");
type Answer = { status: number; headers?: object; body?: unknown } | null;

const at = (second: number) => ({ seq: second, at: new Date(START + second * 1_000).toISOString() });

/** A call of the platform to the service. */
function asked(second: number, method: string, uuid: string, answer: Answer, plan?: string): LedgerEntry {
  const isProvision = method === "POST";
  const body = isProvision ? { uuid, plan, oauth_grant: { code: `the-code-of-${uuid}` } } : { plan };
  return {
    ...{ ...at(second), ms: 100, direction: "out", method },
    path: isProvision ? "/resources" : `/resources/${uuid}`,
    request: { headers: {}, body: plan === undefined ? null : body },
    response: answer && { headers: {}, body: null, ...answer },
  } as LedgerEntry;
}

/** A call of the service to the token endpoint, that was answered with tokens. */
function issued(second: number, uuid: string, form: object): LedgerEntry {
  const body = { access_token: TOKEN, refresh_token: `refresh of ${uuid}` };
  return {
    ...{ ...at(second), ms: 10, direction: "in", method: "POST", path: "/oauth/token" },
    ...{ request: { headers: {}, body: form }, response: { status: 201, headers: {}, body } },
  } as unknown as LedgerEntry;
}

function aRun() {
  const history = createHistory();
  for (const uuid of [KEPT, GONE]) history.acknowledged.add(uuid);
  history.deprovisioned.add(GONE);
  const kept = {
    ...{ uuid: KEPT, resource: "provisioned", plan: "premium", state: "active" },
    ...{ reason: null as string | null, hasSecrets: true, key: KEY, token: TOKEN },
  };
  const gone = {
    ...{ uuid: GONE, resource: "deprovisioned", plan: "basic", state: "erased" },
    ...{ reason: null, hasSecrets: false },
  };
  return {
    history,
    kept,
    rows: [kept, gone] as object[],
    addons: [{ id: KEPT, state: "provisioned" }],
    entries: [
      asked(0, "POST", KEPT, { status: 200, body: MESSAGE }, "basic"),
      issued(2, KEPT, { grant_type: "authorization_code", code: `the-code-of-${KEPT}` }),
      asked(3, "PUT", KEPT, { status: 200, body: {} }, "premium"),
      asked(4, "POST", GONE, { status: 200, body: MESSAGE }, "basic"),
      asked(5, "DELETE", GONE, { status: 204 }),
      issued(32, KEPT, { grant_type: "refresh_token", refresh_token: `refresh of ${KEPT}` }),
    ],
    fleet: {
      ...{ kills: [], freezes: [] },
      unaskedEnds: [] as { name: string; code: number }[],
      outputFile: path.join(folder, "service.log"),
    },
    left: [] as string[],
    config: CONFIG,
  };
}

/** The findings, each with the letter of its promise. */
async function verdictOn(run: ReturnType<typeof aRun>) {
  const { kept, history } = run;
  theirConfig = run.config;
  const sealing = kept.key === KEY ? vault : await createVault({ encryptionKey: new Secret(kept.key) });
  Object.assign(kept, {
    sealedAccessToken: Buffer.from(
      sealing.seal({ table: "credentials", column: "sealed_access_token", uuid: KEPT }, kept.token),
    ),
    sealedConfig: Buffer.from(
      vault.seal({ table: "resources", column: "sealed_config", uuid: KEPT }, JSON.stringify(CONFIG)),
    ),
  });
  const sandbox = {
    url: platform,
    settings: { mediaType: "application/json" },
    control: { ledger: () => ({ entries: run.entries }), state: () => ({ addons: run.addons }) },
  } as unknown as Sandbox;
  const findings = await judge({
    ...{ sandbox, history, fleet: run.fleet, left: run.left, lifeSeconds: 60 },
    ask: <Row extends object>(text: string) =>
      Promise.resolve((text.includes("FROM resources") ? run.rows : []) as Row[]),
    settings: { ENCRYPTION_KEY: KEY },
    callers: new Map(),
    load: { connections: 8, connectionsInTrouble: 9, mostConnections: 8, megabytes: 100, mostMegabytes: 250 },
  });
  return {
    found: findings.flatMap(({ id, against }) => against.map((each) => `${id} ${each}`)),
    exitCode: exitCodeOf(findings),
    report: report(findings, history),
  };
}

const away = (fromSecond: number, toSecond: number) => ({
  fromMs: START + fromSecond * 1_000,
  toMs: START + toSecond * 1_000,
});
const lasting = (entry: LedgerEntry, ms: number): LedgerEntry => ({ ...entry, ms });
const unavailable = { status: 503, body: { id: "unavailable", message: "Later." } };

describe("the verdict of a chaos run", () => {
  it("reports nothing for a run without faults", async () => {
    const { found, exitCode, report } = await verdictOn(aRun());
    expect(found).toEqual([]);
    expect(exitCode).toBe(0);
    expect(report).toContain("1 refreshes, 1.00 for each half of a life; 0 early, 0 explained");
  });

  it.each<[string, string, (run: ReturnType<typeof aRun>) => unknown]>([
    ["whose acknowledged resource is not there", `I1 ${KEPT}`, ({ rows }) => rows.shift()],
    ["that refuses a provision", "I1 33333333", ({ entries }) => entries.push(asked(9, "POST", "33333333", { status: 422 }, "basic"))],
    ["that refuses a plan change though nothing of its grant was lost", `I1 ${KEPT}`, ({ entries }) => entries.push(asked(9, "PUT", KEPT, { status: 422, body: { id: "provision_failed" } }, "basic"))],
    ["that is away though its database is there", `I1 ${KEPT}`, ({ entries, history }) => [history.databaseTroubles.push(away(9, 12)), entries.push(lasting(asked(9, "POST", KEPT, unavailable, "premium"), 8_000))]],
    ["that answers a provision otherwise the second time", `I1 ${KEPT}`, ({ entries }) => entries.push(asked(9, "POST", KEPT, { status: 200, body: { id: "other" } }, "premium"))],
    ["that lost a grant", `I2 ${KEPT}`, ({ kept }) => (kept.state = "grant_lost")],
    ["whose token is dead", `I3 ${KEPT}`, ({ kept }) => (kept.token = "SVCK-another")],
    ["that makes two calls for one token at once", `I4 ${KEPT}`, ({ entries }) => (entries[5] = lasting(entries[5]!, 61_000)) && entries.push(issued(62, KEPT, { refresh_token: `refresh of ${KEPT}` }))],
    ["that refreshes without need", `I4 ${KEPT}`, ({ entries }) => entries.push(issued(35, KEPT, { refresh_token: `refresh of ${KEPT}` }))],
    ["that gives a credential up", `I5 ${KEPT}`, ({ kept }) => (kept.state = "needs_reauth")],
    ["that brings back what was deprovisioned", `I6 ${GONE}`, ({ rows }) => (rows[1] = { ...rows[1], resource: "provisioned" })],
    ["that puts a token into an address", "I7 a call to GET", ({ entries }) => entries.push({ ...issued(9, KEPT, {}), method: "GET", path: `/addons?token=${TOKEN}` })],
    ["that ends a process", "I10 web-1 ended with 78", ({ fleet }) => fleet.unaskedEnds.push({ name: "web-1", code: 78 })],
    ["that never ends a provision", `I9 ${KEPT}: provisioning here`, ({ kept }) => (kept.resource = "provisioning")],
    ["that forgets a plan change", `I9 ${KEPT}: its plan is basic`, ({ kept }) => Object.assign(kept, { plan: "basic" })],
    ["that keeps other config vars than the platform", `I9 ${KEPT}: the platform has another TEAPOT_TOKEN`, (run) => (run.config = [])],
  ])("reports a service %s", async (_, expected, spoil) => {
    const run = aRun();
    spoil(run);
    const { found, exitCode } = await verdictOn(run);
    expect(found).toEqual(expect.arrayContaining([expect.stringContaining(expected)]));
    expect(exitCode).toBe(1);
  }); // prettier-ignore
});
