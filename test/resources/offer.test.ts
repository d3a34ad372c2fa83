import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { text } from "node:stream/consumers";
import type { Environment } from "../../src/environment.ts";
import { Misconfigured } from "../../src/errors.ts";
import { addonManifest } from "../../src/offer.ts";
import { openContext } from "../../src/open-context.ts";
import type { Offer } from "../../src/resources/contract.ts";
import { aFreshDatabase } from "../support/database.ts";
import { kit } from "../support/kit.ts";
import { before } from "../support/process-world.ts";
import { program } from "../support/program.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { offer } from "../support/teapots/plans.ts";

const environment = {
  ADDON_ID: "teapots",
  ADDON_PASSWORD: "a-password-of-tests",
  PUBLIC_URL: "https://addon.example.com",
  PLATFORM_API_URL: "https://api.example.com",
  PLATFORM_AUTH_URL: "https://id.example.com",
  PLATFORM_STATUS_URL: "https://status.example.com",
  ENCRYPTION_KEY: "9f2c41e07ab85d3613ce8047fb2a9d65",
  DATABASE_URL: "postgresql://nowhere.invalid/addon",
};
const [basic] = Object.values(offer.plans);
const A_PRICE = "plans.basic.price must have cents, a whole number from 0, and a unit";
const RETIRED_PLAN = 'defaultPlan is "basic", but the plans are: premium, dedicated.';
const OTHER_PLAN = 'defaultPlan is "bsic", but the plans are: basic, premium, dedicated.';

async function run(args: string[], env: Environment) {
  const child = spawn(process.execPath, args, { cwd: tmpdir(), env });
  const outputs = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await once(child, "close")) as [number];
  return { code, output: (await outputs).join("") };
}

describe("an inconsistent offer", () => {
  it.each<[Partial<Offer>, string | RegExp]>([
    [{ defaultPlan: "bsic" }, OTHER_PLAN],
    [{ ephemeralPlan: "constructor" }, 'ephemeralPlan is "constructor"'],
    [{ plans: { ...offer.plans, "teapots:basic": basic! } }, 'plans holds "teapots:basic"'],
    [{ plans: { ...offer.plans, basic: { ...basic!, retired: true } } }, RETIRED_PLAN],
    [{ plans: { ...offer.plans, "": basic! } }, 'plans holds ""'],
    [{ plans: { ...offer.plans, basic: { ...basic!, price: { cents: 9.5, unit: "month" } } } }, A_PRICE],
    [{ plans: { ...offer.plans, basic: { ...basic!, price: { cents: NaN, unit: "month" } } } }, A_PRICE],
    [{ plans: { ...offer.plans, basic: { ...basic!, price: { cents: 9, unit: "" } } } }, A_PRICE],
    [
      { plans: { ...offer.plans, basic: { ...basic!, limits: { cups: -1 } } } },
      "plans.basic.limits.cups is -1",
    ],
    [
      { plans: { ...offer.plans, basic: { ...basic!, limits: { cups: 1 } } } },
      "plans.premium.limits lacks cups, which other plans have",
    ],
    [{ configVars: ["KETTLE-TOKEN"] }, 'configVars holds "KETTLE-TOKEN": a name there is of letters'],
    [{ configVars: ["2ND_TEAPOT"] }, 'configVars holds "2ND_TEAPOT"'],
    [
      { limits: { finish: 601, retire: 0.5 } },
      /limits\.finish is 601: give seconds, 1 to 600\.\n.*retire is 0\.5/,
    ],
    [{ defaultPlan: "bsic", configVars: ["A B"] }, /defaultPlan is "bsic".*\n {2}configVars holds "A B"/],
  ])("is registered nowhere, and opens no database: %j", async (change, sentence) => {
    const misfit = { ...offer, ...change };
    expect(() => addonManifest("teapots", misfit)).toThrow(sentence);
    const start = openContext(teapotConfig(environment), { ...teapotParts, offer: misfit });
    await expect(start).rejects.toThrow(sentence);
    await expect(start).rejects.toBeInstanceOf(Misconfigured);
  });

  it("makes kit manifest write and kit doctor exit with 78 and the message, as the start does", async () => {
    const misfit = { ...offer, defaultPlan: "bsic" };
    for (const words of [["manifest", "write"], ["doctor"]]) {
      const { code, stdout, stderr } = await kit(environment, words, "", { offer: misfit });
      expect({ words, code }).toEqual({ words, code: 78 });
      const said = (stdout + stderr).replace(/\s+/g, " ");
      expect(said).toContain(`src/your-service/plans.ts is invalid: ${OTHER_PLAN}`);
    }
  });
});

/** The error quotes a setting and a token of the platform. */
const THROWS = `
  import { register } from "node:module";
  const service = "export function createYourService() {" +
    "throw new Error('no cache at redis://:' + process.env.ADDON_PASSWORD + '@cache for SVCK-0123456789') }";
  const load = (url, context, next) => url.endsWith("/your-service/index.js")
    ? { format: "module", source: SERVICE, shortCircuit: true } : next(url, context);
  register("data:text/javascript," + encodeURIComponent(
    "const SERVICE = " + JSON.stringify(service) + "; export const load = " + load));`;

it.each([
  ["the service", ["src/web.ts"], /^Error: no cache at redis:\/\/:\[secret\]@cache for \[secret\]\n +at /m],
  [
    "a command",
    ["src/kit.ts", "tokens", "refresh", "--all"],
    /^✗ no cache at redis:\/\/:\[secret\]@cache for \[secret\]$/m,
  ],
])(
  "%s whose vendor's code throws prints the reason without a secret",
  async (_who, [file, ...words], why) => {
    const database = await aFreshDatabase();
    const { PATH, HOME } = process.env;
    const settings = { ...environment, CLIENT_SECRET: "a-client-secret-of-tests", PORT: "0", PATH, HOME };
    const env = { ...settings, ...database.environment, ...before(THROWS) };
    const { code, output } = await run([program(file!), ...words], env);
    await database.close();
    expect(output).toMatch(why);
    expect(output).not.toMatch(/a-password-of-tests|SVCK-/);
    expect(code).toBe(1);
  },
);
