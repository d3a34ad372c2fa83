import { FRESH_MS, readHours, stateOfCredentials, stateOfWork } from "../metrics/store.ts";
import type { OpenContext } from "../context.ts";
import { orNullAfter, sharedFor } from "../within.ts";
import type { Finding } from "./doctor/finding.ts";
import { platformStatus, secret } from "./doctor/platform.ts";
import { OF_WORK, type Measured } from "./doctor/work.ts";

export type Overview = Awaited<ReturnType<ReturnType<typeof createOverview>>>;

/** What must be dealt with, the most urgent first; what the metrics show too. */
export function createOverview(ctx: OpenContext) {
  const measured = sharedFor(FRESH_MS, async () => [
    ...(await stateOfWork(ctx.db, ctx.jobs.names)),
    ...(await stateOfCredentials(ctx.db)),
  ]);
  return async () => ({
    issues: await issuesOf(ctx, measured),
    samples: await measured(),
    hours: await readHours(ctx.db),
  });
}

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
