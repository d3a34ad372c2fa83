import {
  FRESH_MS,
  readHours,
  SAMPLED,
  stateOfCredentials,
  stateOfWork,
  type Sample,
} from "../metrics/store.ts";
import type { OpenContext } from "../open-context.ts";
import { orNullAfter, sharedFor } from "../within.ts";
import type { Finding } from "./doctor/finding.ts";
import { platformStatus, secret } from "./doctor/platform.ts";
import { OF_WORK, type Measured } from "./doctor/work.ts";

/** What an operator sees first. */
export type Overview = Awaited<ReturnType<ReturnType<typeof createOverview>>>;
export type Gauges = ReturnType<typeof gaugesOf>;

/** What must be dealt with, the most urgent first; the numbers; and the refreshes of the last 24 hours. */
export function createOverview(ctx: OpenContext) {
  const measured = sharedFor(FRESH_MS, async () => [
    ...(await stateOfWork(ctx.db, ctx.jobs.names)),
    ...(await stateOfCredentials(ctx.db)),
  ]);
  return async () => ({
    issues: await issuesOf(ctx, measured),
    gauges: gaugesOf(await measured()),
    hours: await readHours(ctx.db),
  });
}

/** What the metrics show too: a bounded number of rows of each table is read for it. */
function gaugesOf(samples: readonly Sample[]) {
  const all = (name: string) =>
    samples
      .filter(({ sample }) => sample === name)
      .map(({ labels, value }) => ({ label: (which: string) => String(labels[which]), value }));
  // A histogram's buckets are cumulative.
  const upTo = all("addon_token_age_seconds_bucket")
    .map(({ label, value }) => ({ seconds: label("le") === "+Inf" ? null : Number(label("le")), value }))
    .sort((a, b) => (a.seconds ?? Infinity) - (b.seconds ?? Infinity));
  const ages = all("addon_due_age_seconds");
  return {
    /** Whether there are so many credentials that the counts by state and the token ages are estimated from a sample. */
    isEstimated: all(SAMPLED)[0]!.value < 100,
    credentials: all("addon_credentials").map(({ label, value }) => ({
      state: label("state"),
      count: value,
    })),
    /** How much work is due and not done, and for how long the oldest of it has been due. */
    queues: all("addon_due").map(({ label, value }, index) => ({
      ...{ queue: label("queue"), due: value, ageSeconds: ages[index]!.value },
    })),
    /** How many tokens are in each age bucket; the bound of the last bucket is null. */
    tokenAges: upTo.map(({ seconds, value }, index) => ({
      ...{ upToSeconds: seconds, count: value - (upTo[index - 1]?.value ?? 0) },
    })),
  };
}

/** The page waits for the status feed no longer than this. */
const STATUS_TIMEOUT_MS = 2_500;
const CHECK_UP = [{ label: "Check-up", path: "/check-up" }];

/** What `kit doctor` finds, but for what only an installation or an upgrade makes wrong; each with links. */
async function issuesOf(ctx: OpenContext, measured: Measured): Promise<Finding[]> {
  // The page reloads every few seconds, so the secret is not tried: the service's own token calls show whether it works.
  const found = [
    {
      ...(await secret(ctx, { isTried: false })),
      links: [{ label: "Set the client secret", path: "/secret" }],
    },
    (await orNullAfter(STATUS_TIMEOUT_MS, platformStatus(ctx))) ?? [],
  ].flat();
  for (const look of Object.values(OF_WORK)) found.push(...(await look(ctx, measured)));
  return found
    .filter(({ ok, fix }) => !ok || fix !== null)
    .map((finding) => ({ links: CHECK_UP, ...finding }))
    .sort((one, other) => Number(one.ok) - Number(other.ok));
}
