import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { aFreshDatabase } from "../support/database.ts";
import { before } from "../support/process-world.ts";
import { program } from "../support/program.ts";

// The vendor's code may throw while the service is created.

const settings = {
  ...{ ADDON_ID: "teapots", ADDON_PASSWORD: "a-password-of-tests", PORT: "0" },
  ...{ ENCRYPTION_KEY: "0123456789abcdef0123456789abcdef", CLIENT_SECRET: "a-client-secret-of-tests" },
  PLATFORM_API_URL: "https://api.example.com",
  PLATFORM_AUTH_URL: "https://id.example.com",
  PLATFORM_STATUS_URL: "https://status.example.com",
};

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
])("%s that cannot start prints the reason without a secret", async (_who, [file, ...words], why) => {
  const database = await aFreshDatabase();
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [program(file!), ...words], {
    cwd: tmpdir(),
    env: { PATH, HOME, ...settings, ...database.environment, ...before(THROWS) },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data: Buffer) => (output += data.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  await database.close();
  expect(output).toMatch(why);
  expect(output).not.toMatch(/a-password-of-tests|SVCK-/);
  expect(code).toBe(1);
});
