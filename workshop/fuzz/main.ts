import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { startTestServer } from "../../test/support/test-server.ts";
import { aWorld, QUICK } from "../../test/support/world.ts";
import { fuzzAuthorizations } from "./authorizations.ts";
import { createLogWatch } from "./log-watch.ts";
import { fuzzProvisions } from "./provisions.ts";
import { report } from "./report.ts";

// Sends provision requests and Authorization headers that no platform would send to a service in this process, with a
// database of its own. Exit code 1: a fault was found.
// npm run fuzz [-- --count 10000] [--headers 2000] [--seed 42]

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "10000" },
    headers: { type: "string", default: "2000" },
    seed: { type: "string", default: String(randomInt(1_000_000)) },
  },
});
const count = numberOf("count", 1);
const headers = numberOf("headers", 1);
const seed = numberOf("seed", 0);
/** No case may cost more than this many usual requests. */
const MOST_TIMES = 50;

console.log(`Seed ${seed} (repeat it with --count ${count} --seed ${seed})`);
const stopServer = await startTestServer();
const log = createLogWatch();
// Without exchanges: the sandbox does not know the grants made up here.
const parts = { logTo: log, pace: { ...QUICK, exchangeAfterMs: 3_600_000 } };
const world = await aWorld({ environment: { WEB_JOBS: "off" }, parts });
const { addonId: user, addonPassword: password } = world.sandbox.settings;
const onProgress = (done: number) => process.stdout.isTTY && process.stdout.write(`\r${done} of ${count}\r`);
const provisions = await fuzzProvisions({ world, log, seed, count, onProgress });
const authorizations = await fuzzAuthorizations({
  url: world.service.url!,
  user,
  password,
  seed,
  count: headers,
});
await world.close();
await stopServer();

console.log(report(provisions, authorizations));
const isDear = provisions.dearest.some(({ times }) => times > MOST_TIMES);
if (isDear) console.log(`A case costs more than ${MOST_TIMES} usual requests.`);
process.exit(isDear || provisions.faults.length + authorizations.faults.length > 0 ? 1 : 0);

function numberOf(name: keyof typeof values, least: number): number {
  const number = Number(values[name] || NaN);
  if (Number.isSafeInteger(number) && number >= least) return number;
  console.error(`--${name} must be a whole number of at least ${least}, not "${values[name]}"`);
  process.exit(2);
}
