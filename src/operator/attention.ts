import { MOST_NEEDING_ATTENTION } from "../credentials/needing-attention.ts";
import type { OpenContext } from "../open-context.ts";
import { countedToMost, type Finding } from "./doctor/finding.ts";
import { clocksNow, secret } from "./doctor/platform.ts";
import { unrefreshable } from "./doctor/store.ts";
import { lateGrants, lateRefreshes, lost, sweeps } from "./doctor/work.ts";
import type { Gauges } from "./gauges.ts";
import type { Hour } from "./store.ts";
import { FAILING, failingSteps } from "./waiting-steps.ts";
import { counted } from "./wording.ts";

/** Something that an operator must deal with: what it is, what to do, and where. */
export interface Issue {
  /** `bad`: something is, or will be, lost for customers. */
  urgency: "bad" | "wait";
  what: string;
  todo: string;
  /** Links to operator's pages, as paths below `/operator`. */
  links: { label: string; path: string }[];
}

const CHECK_UP = [{ label: "Check-up", path: "/check-up" }];

/** Everything that an operator must deal with, the most urgent first. */
export async function issuesOf(
  ctx: OpenContext,
  { attention }: Gauges,
  hours: readonly Hour[],
): Promise<Issue[]> {
  const { legacyGrants } = ctx.config;
  return [
    ...(await secretIssue(ctx)),
    ...found(await sweeps(ctx)),
    ...found(await lateGrants(ctx)),
    ...found(await lost(ctx), [{ label: "See them", path: "/lost" }]),
    ...found(clocksNow(ctx)),
    ...[
      ...found(await lateRefreshes(ctx)),
      ...(await unrefreshableIssue(ctx)),
      ...attention.map((group) => stateIssue(group, legacyGrants)),
    ].sort((one, other) => Number(other.urgency === "bad") - Number(one.urgency === "bad")),
    ...(await stepIssue(ctx)),
    ...outageIssue(hours),
  ];
}

/** A finding of the check-up that is not fine, as an issue. */
function found(finding: Finding | null, links = CHECK_UP): Issue[] {
  if (finding === null || (finding.ok && finding.fix === null)) return [];
  const { ok, message: what, fix } = finding;
  return [{ urgency: ok ? "wait" : "bad", what, todo: fix ?? "", links }];
}

async function secretIssue(ctx: OpenContext): Promise<Issue[]> {
  // The page reloads every few seconds, so it does not try the secret on the platform: the service's ordinary token
  // calls show whether it works.
  const { ok, message: what } = await secret(ctx, { isTried: false });
  if (ok) return [];
  const todo =
    "Set the secret that the platform's partner portal shows now. Hurry: grants that come meanwhile live five minutes.";
  return [{ urgency: "bad", what, todo, links: [{ label: "Set the client secret", path: "/secret" }] }];
}

const linksTo = (uuids: readonly string[]) =>
  uuids.map((uuid) => ({ label: `See ${uuid}`, path: `/resources/${uuid}` }));

async function unrefreshableIssue({ db }: OpenContext): Promise<Issue[]> {
  const ending = await unrefreshable(db);
  if (!ending) return [];
  const what = `${countedToMost(ending.count, "resource")} without a refresh token: access ends, or has ended, with the token there is.`;
  return [{ urgency: "bad", what, todo: "Ask the platform's support.", links: linksTo(ending.some) }];
}

function stateIssue({ state, reason, count }: Gauges["attention"][number], canRecover: boolean): Issue {
  const { urgency, what, todo, isRecoverable = false } = MEANINGS[state] ?? UNKNOWN;
  const most = count < MOST_NEEDING_ATTENTION ? "" : " or more";
  const them = count === 1 ? "it" : "them";
  const links = [{ label: `See ${them}`, path: `/resources?state=${encodeURIComponent(state)}` }];
  if (isRecoverable && canRecover) links.push({ label: "Recover all lost grants", path: "/recover-all" });
  return {
    urgency,
    what: `${counted(count, "resource")}${most} ${state}${reason === "" ? "" : ` (${reason})`}: ${what}`,
    todo: isRecoverable && canRecover ? `Recover ${them}.` : (BY_REASON[reason] ?? todo),
    links,
  };
}

interface Meaning {
  urgency: Issue["urgency"];
  what: string;
  todo: string;
  isRecoverable?: boolean;
}

const DELIVER_AGAIN =
  "Ask the platform to deliver the provision again; or to open its oauth-grant endpoint for your add-on, and set LEGACY_GRANTS=on.";
const UNKNOWN: Meaning = { urgency: "wait", what: "look at them.", todo: "Look at them." };

/** The same advice as docs/operate.md gives for each alarm. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  grant_lost: {
    urgency: "bad",
    what: "the grant ended without tokens. Config vars stay, and cannot be changed.",
    todo: DELIVER_AGAIN,
    isRecoverable: true,
  },
  needs_reauth: {
    urgency: "bad",
    what: "the platform refused the refresh token for a day; it was revoked.",
    todo: "Ask the platform's support. The service asks again once a day.",
  },
  quarantined: {
    urgency: "bad",
    what: "the stored credential does not open.",
    todo: "Find out who wrote to the database.",
  },
  no_grant: {
    urgency: "wait",
    what: "the provision came without a grant. It works, but its config vars cannot be changed, and one that was put off fails after 11 hours.",
    todo: DELIVER_AGAIN,
    isRecoverable: true,
  },
};
/** Better advice where the reason is known. */
const BY_REASON: Readonly<Record<string, string>> = {
  key_missing: "Put the missing key into DECRYPTION_KEYS and restart: it opens again by itself.",
  integrity:
    "The row was changed: find out who wrote to the database. Where the refresh token still opens, a refresh brings fresh tokens.",
};

async function stepIssue({ db }: OpenContext): Promise<Issue[]> {
  const { count, kinds, someUuids } = await failingSteps(db);
  if (count === 0) return [];
  const many = count === 1 ? "A step" : `${count} steps`;
  const what = `${many} (${kinds.join(", ")}) ${FAILING}: put-off work that does not end.`;
  const todo =
    "Read what came of the last try on the page of its resource, and fix it. The next follows by itself.";
  return [{ urgency: "wait", what, todo, links: linksTo(someUuids) }];
}

/** Looks at the current hour and the one before. */
function outageIssue(hours: readonly Hour[]): Issue[] {
  const times = hours.slice(-2).reduce((sum, { heldBack }) => sum + heldBack, 0);
  if (times === 0) return [];
  const what = `Refreshes were held back ${times === 1 ? "once" : `${times} times`} since the hour before: the platform's token endpoint failed several times in a row.`;
  const todo =
    "Look at the platform's status. Nothing is lost: refreshes have hours to spare, and catch up by themselves.";
  return [{ urgency: "wait", what, todo, links: [] }];
}
