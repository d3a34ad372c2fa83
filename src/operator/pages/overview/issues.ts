import { MOST_NEEDING_ATTENTION } from "../../../credentials/needing-attention.ts";
import { countedToMost, type Finding } from "../../doctor/check.ts";
import { clocksNow, lost } from "../../doctor/outage-checks.ts";
import { secret, sweeps, unrefreshable } from "../../doctor/credential-checks.ts";
import { lateGrants, lateRefreshes } from "../../doctor/token-check.ts";
import { FAILING, failingSteps } from "../../waiting-steps.ts";
import type { OpenContext } from "../../../open-context.ts";
import type { Gauges } from "./gauges.ts";
import type { Hour } from "./hours.ts";

/** Something that an operator must deal with: what it is, what to do, and where. */
export interface Issue {
  id: string;
  /** `bad`: something is, or will be, lost for customers. */
  urgency: "bad" | "wait";
  what: string;
  todo: string;
  /** Links to operator's pages, as paths below `/operator`. */
  links: { label: string; path: string }[];
}

/** Everything that an operator must deal with, the most urgent first. */
export async function issuesOf(
  services: OpenContext,
  { attention }: Gauges,
  hours: readonly Hour[],
): Promise<Issue[]> {
  return [
    ...(await secretIssue(services)),
    ...found("sweeps", await sweeps(services)),
    ...found("grants", await lateGrants(services)),
    ...found("lost", await lost(services), [{ label: "See them", path: "/lost" }]),
    ...found("clocks", clocksNow(services)),
    ...[
      ...found("refreshes", await lateRefreshes(services)),
      ...(await unrefreshableIssue(services)),
      ...attention.map((group) => stateIssue(group, services.config.legacyGrants)),
    ].sort(badFirst),
    ...(await stepIssue(services)),
    ...outageIssue(hours),
  ];
}

const badFirst = (one: Issue, other: Issue) =>
  Number(other.urgency === "bad") - Number(one.urgency === "bad");

async function secretIssue(services: OpenContext): Promise<Issue[]> {
  // The page reloads every few seconds, so it does not try the secret on the platform: the service's ordinary token
  // calls show whether it works.
  const { ok, message } = await secret(services, { isTried: false });
  if (ok) return [];
  const todo =
    "Set the secret that the platform's partner portal shows now. Hurry: grants that come meanwhile live five minutes.";
  const links = [{ label: "Set the client secret", path: "/secret" }];
  return [{ id: "secret", urgency: "bad", what: message, todo, links }];
}

const CHECK_UP = [{ label: "Check-up", path: "/check-up" }];

/** A finding of the check-up that is not fine, as an issue. */
function found(id: string, finding: Finding | null, links = CHECK_UP): Issue[] {
  if (finding === null || (finding.ok && finding.fix === null)) return [];
  const { ok, message: what, fix } = finding;
  return [{ id, urgency: ok ? "wait" : "bad", what, todo: fix ?? "", links }];
}

async function unrefreshableIssue({ db }: OpenContext): Promise<Issue[]> {
  const ending = await unrefreshable(db);
  if (!ending) return [];
  const what = `${countedToMost(ending.count, "resource")} without a refresh token: access ends, or has ended, with the token there is.`;
  const todo = "Ask the platform's support.";
  const links = ending.some.map((uuid) => ({ label: `See ${uuid}`, path: `/resources/${uuid}` }));
  return [{ id: "unrefreshable", urgency: "bad", what, todo, links }];
}

function stateIssue({ state, reason, count }: Gauges["attention"][number], canRecover: boolean): Issue {
  const told = STATES[state] ?? UNKNOWN;
  const most = count < MOST_NEEDING_ATTENTION ? "" : " or more";
  const many = `${count} ${count === 1 ? "resource" : "resources"}${most}`;
  const links = [
    { label: `See ${count === 1 ? "it" : "them"}`, path: `/resources?state=${encodeURIComponent(state)}` },
    ...(told.isRecoverable && canRecover ? [{ label: "Recover all lost grants", path: "/recover-all" }] : []),
  ];
  return {
    id: `${state}-${reason}`,
    urgency: told.urgency,
    what: `${many} ${state}${reason === "" ? "" : ` (${reason})`}: ${told.what}`,
    todo:
      told.isRecoverable && canRecover
        ? `Recover ${count === 1 ? "it" : "them"}.`
        : (told.byReason?.[reason] ?? told.todo),
    links,
  };
}

interface ToldState {
  urgency: Issue["urgency"];
  what: string;
  todo: string;
  byReason?: Readonly<Record<string, string>>;
  isRecoverable?: boolean;
}

const DELIVER_AGAIN =
  "Ask the platform to deliver the provision again; or to open its oauth-grant endpoint for your add-on, and set LEGACY_GRANTS=on.";
const UNKNOWN: ToldState = { urgency: "wait", what: "look at them.", todo: "Look at them." };

/** The same advice as docs/operate.md gives for each alarm. */
const STATES: Readonly<Record<string, ToldState>> = {
  grant_lost: {
    urgency: "bad",
    what: "the grant ended without tokens. Config vars stay, and cannot be changed.",
    todo: DELIVER_AGAIN,
    isRecoverable: true,
  },
  needs_reauth: {
    urgency: "bad",
    what: "the platform refused the refresh token twice; it was revoked.",
    todo: "Ask the platform's support. The service asks again once a day.",
  },
  quarantined: {
    urgency: "bad",
    what: "the stored credential does not open.",
    todo: "Find out who wrote to the database.",
    byReason: {
      key_missing: "Put the missing key into DECRYPTION_KEYS and restart: it opens again by itself.",
      integrity:
        "The row was changed: find out who wrote to the database. Where the refresh token still opens, a refresh brings fresh tokens.",
    },
  },
  no_grant: {
    urgency: "wait",
    what: "the provision came without a grant. It works, but its config vars cannot be changed, and one that was put off fails after 11 hours.",
    todo: DELIVER_AGAIN,
    isRecoverable: true,
  },
};

async function stepIssue({ db }: OpenContext): Promise<Issue[]> {
  const { count, kinds, someUuids } = await failingSteps(db);
  if (count === 0) return [];
  const many = count === 1 ? "A step" : `${count} steps`;
  const what = `${many} (${kinds.join(", ")}) ${FAILING}: put-off work that does not end.`;
  const todo =
    "Read what came of the last try on the page of its resource, and mend it. The next follows by itself.";
  const links = someUuids.map((uuid) => ({ label: `See ${uuid}`, path: `/resources/${uuid}` }));
  return [{ id: "steps", urgency: "wait", what, todo, links }];
}

/** Looks at the current hour and the one before. */
function outageIssue(hours: readonly Hour[]): Issue[] {
  const times = hours.slice(-2).reduce((sum, { heldBack }) => sum + heldBack, 0);
  if (times === 0) return [];
  const what = `Refreshes were held back ${times === 1 ? "once" : `${times} times`} since the hour before: the platform's token endpoint failed several times in a row.`;
  const todo =
    "Look at the platform's status. Nothing is lost: refreshes have hours to spare, and catch up by themselves.";
  return [{ id: "outage", urgency: "wait", what, todo, links: [] }];
}
