import {
  FRESH_MS,
  readHours,
  SAMPLED,
  stateOfCredentials,
  stateOfWork,
  type Hour,
  type Sample,
} from "../metrics/store.ts";
import type { OpenContext } from "../open-context.ts";
import { sharedFor } from "../within.ts";
import { adviceOn, type Advice } from "./advice.ts";
import { fault, type Finding } from "./doctor/finding.ts";
import { secret } from "./doctor/platform.ts";
import {
  lateGrants,
  lateRefreshes,
  steps,
  sweeps,
  yourJobs,
  yourService,
  type Measured,
} from "./doctor/work.ts";
import { unrefreshable } from "./store.ts";
import { counted, countedToMost } from "./wording.ts";

/** What an operator sees first. */
export type Overview = Awaited<ReturnType<ReturnType<typeof createOverview>>>;
export type Gauges = ReturnType<typeof gaugesOf>;

/** Something that an operator must deal with: what it is, what to do, and where. */
export interface Issue {
  urgency: Advice["urgency"];
  what: string;
  todo: string;
  /** Links to operator's pages, as paths below `/operator`. */
  links: { label: string; path: string }[];
}

/** What must be dealt with, the most urgent first; the numbers; and the refreshes of the last 24 hours. */
export function createOverview(ctx: OpenContext) {
  const measured = sharedFor(FRESH_MS, async () => [
    ...(await stateOfWork(ctx.db, ctx.jobs.names)),
    ...(await stateOfCredentials(ctx.db)),
  ]);
  return async () => {
    const hours = await readHours(ctx.db);
    const gauges = gaugesOf(await measured());
    return { issues: await issuesOf(ctx, gauges, hours, measured), gauges, hours };
  };
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
    /** Credentials in states that need an operator. */
    attention: all("addon_credentials_needing_attention").map(({ label, value }) => ({
      ...{ state: label("state"), reason: label("reason"), count: value },
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

async function issuesOf(
  ctx: OpenContext,
  { attention }: Gauges,
  hours: readonly Hour[],
  measured: Measured,
): Promise<Issue[]> {
  // The page reloads every few seconds, so the secret is not tried: the service's own token calls show whether it works.
  const ofSecret = await secret(ctx, { isTried: false });
  return [
    ...found(ofSecret.ok ? null : ofSecret, [{ label: "Set the client secret", path: "/secret" }]),
    ...found(await sweeps(ctx, measured)),
    ...found(await lateGrants(ctx)),
    ...found(await yourService(measured), OF_STEPS),
    ...found(ctx.vendor.jobs?.length ? await yourJobs(ctx) : null),
    ...found(await lateRefreshes(ctx)),
    ...found(await withoutRefreshToken(ctx)),
    ...attention.map((group) => stateIssue(group, ctx.config.legacyGrants)),
    ...found(await steps(ctx)),
    ...outageIssue(hours),
  ].sort((one, other) => Number(other.urgency === "bad") - Number(one.urgency === "bad"));
}

const CHECK_UP = [{ label: "Check-up", path: "/check-up" }];
const OF_STEPS = [
  { label: "Try all work now", path: "/retry-all" },
  { label: "Cut all calls off", path: "/cut-off-all" },
];
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** A finding of the check-up that is not fine, with links to the resources that its advice names. */
function found(finding: Finding | null, links = CHECK_UP): Issue[] {
  if (finding === null || (finding.ok && finding.fix === null)) return [];
  const { ok, message: what, fix } = finding;
  const named = (fix?.match(UUID) ?? []).map((uuid) => ({
    label: `See ${uuid}`,
    path: `/resources/${uuid}`,
  }));
  return [{ urgency: ok ? "wait" : "bad", what, todo: fix ?? "", links: named.length > 0 ? named : links }];
}

async function withoutRefreshToken({ db }: OpenContext): Promise<Finding | null> {
  const ending = await unrefreshable(db);
  return (
    ending &&
    fault(
      `${countedToMost(ending.count, "resource")} without a refresh token: access ends, or has ended, with the token there is.`,
      `Ask the platform's support. Some of them: ${ending.some.join(", ")}`,
    )
  );
}

function stateIssue({ state, reason, count }: Gauges["attention"][number], mayRecover: boolean): Issue {
  const { urgency, what, todo } = adviceOn(state, reason)!;
  const canRecover = mayRecover && (state === "grant_lost" || state === "no_grant");
  return {
    urgency,
    what: `${countedToMost(count, "resource")} ${state}${reason === "" ? "" : ` (${reason})`}: ${what}`,
    todo: canRecover ? "Recover what was lost." : todo,
    links: [
      { label: "See what it is about", path: `/resources?state=${encodeURIComponent(state)}` },
      ...(canRecover ? [{ label: "Recover all lost grants", path: "/recover-all" }] : []),
    ],
  };
}

/** Looks at the current hour and the one before. */
function outageIssue(hours: readonly Hour[]): Issue[] {
  const times = hours.slice(-2).reduce((sum, { heldBack }) => sum + heldBack, 0);
  if (times === 0) return [];
  return [
    {
      urgency: "wait",
      what: `Refreshes were held back ${counted(times, "time")} since the hour before: the platform's token endpoint failed several times in a row.`,
      todo: "Look at the platform's status. Nothing is lost: refreshes have hours to spare, and catch up by themselves.",
      links: [],
    },
  ];
}
