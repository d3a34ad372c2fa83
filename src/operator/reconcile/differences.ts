import type { Installation } from "../resources.ts";

// What can differ between the three ledgers, and what cures it.

/** Each kind: what it means, and its cure as a command. */
export const KINDS = {
  gone_at_platform: {
    what: "alive here, and the platform no longer has it",
    cure: (uuid) => `kit resources erase ${uuid} (ends it here, and takes it down in your backend)`,
    fix: "End it here, and take it down in your backend, for good? The platform is asked once more about each.",
  },
  unknown_here: {
    what: "the platform has it, and we have no such resource",
    cure: () => "kit resources import (with its plan), then kit grants recover",
    fix: "Import it? Only lines of the list that have a plan can be imported.",
  },
  orphan_at_backend: {
    what: "only your backend has it",
    cure: () => "kit reconcile --platform-list --fix orphan_at_backend (has your deprovision called for it)",
    fix: "Take it down in your backend, for good?",
  },
  missing_at_backend: {
    what: "provisioned here, and your backend's list does not have it",
    cure: () =>
      "restore it in your backend; or, empty: kit reconcile --fix missing_at_backend (calls your changePlan)",
    fix: "Make it again? Your changePlan is called with its present plan; what the customer had in it stays lost.",
  },
  plan_differs: {
    what: "the platform sells another plan than your backend was given",
    cure: () => "kit reconcile --fix plan_differs (has your changePlan make the platform's plan)",
    fix: "Change it to the platform's plan, as if the platform had asked?",
  },
  config_differs: {
    what: "the app has other config vars than we want it to have",
    cure: (uuid) =>
      `kit config diff ${uuid}; then kit config push ${uuid} (ours counts) or kit config pull ${uuid} (the app's counts)`,
    fix: "Set them in the app as they are wanted here? After a restored backup ours may be the old ones.",
  },
  app_differs: {
    what: "its app has another name, or it is attached to others",
    cure: (uuid) => `kit apps ${uuid} (stores what the platform says)`,
    fix: "Store what the platform says?",
  },
  state_differs: {
    what: "one side has ended or finished it, the other has not",
    cure: (uuid) => `kit resources show ${uuid}; ask the platform's support to end what has ended here`,
  },
  tokens_refused: {
    what: "the platform refuses its tokens: it is gone, or they were revoked",
    cure: () =>
      "compare with the partner portal's list: kit reconcile --platform-list; else ask the platform's support",
  },
} satisfies Record<string, { what: string; cure(uuid: string): string; fix?: string }>;

export type Kind = keyof typeof KINDS;
export type FixableKind = Exclude<Kind, "state_differs" | "tokens_refused">;

/** A difference, as it is reported but for its cure. Null: that ledger does not have it. */
export interface Found {
  uuid: string;
  kind: Kind;
  ours: string | null;
  theirs: string | null;
  /** Of `unknown_here`: what a line of the list says of it. */
  installation?: Installation;
  /** Of `plan_differs`: the platform's. */
  plan?: string;
  /** We have no row of it, not even a tombstone. */
  isUnseen?: boolean;
  /** The list that was given does not have it. */
  isUnlisted?: boolean;
}

export interface Difference extends Pick<Found, "uuid" | "kind" | "ours" | "theirs"> {
  cure: string;
}

/** The kinds in the order in which they are to be dealt with, each with its cure. */
export type Cures = ReadonlyMap<Kind, (uuid: string) => string>;
export const CURES: Cures = new Map(
  (Object.keys(KINDS) as Kind[]).map((kind) => [kind, KINDS[kind].cure as (uuid: string) => string]),
);

const withList = (kind: FixableKind) => `kit reconcile --platform-list --fix ${kind} < uuids.txt`;

/**
 * After a restore ours is the oldest ledger. The newest customers are taken over before anything is taken down, and the
 * apps' config vars before a plan change that would set them.
 */
export const CURES_AFTER_RESTORE: Cures = new Map<Kind, (uuid: string) => string>([
  [
    "unknown_here",
    () => `${withList("unknown_here")} (the lines that have a plan), then kit grants recover --all`,
  ],
  ["gone_at_platform", () => withList("gone_at_platform")],
  [
    "config_differs",
    () => "kit reconcile --fix config_differs (during the hold it takes over what the app has)",
  ],
  ["plan_differs", () => "kit reconcile --fix plan_differs (calls your changePlan with the platform's plan)"],
  ["app_differs", () => "kit reconcile --fix app_differs"],
  ["missing_at_backend", KINDS.missing_at_backend.cure],
  ["orphan_at_backend", () => withList("orphan_at_backend")],
  ["state_differs", KINDS.state_differs.cure],
  ["tokens_refused", KINDS.tokens_refused.cure],
]);

export const differenceOf = ({ uuid, kind, ours, theirs }: Found, cures: Cures): Difference => ({
  uuid,
  kind,
  ours,
  theirs,
  cure: cures.get(kind)!(uuid),
});

/** So many are named; more are only counted, so that a million of them need no more memory. */
export const MOST_NAMED = 25_000;

const keyOf = ({ uuid, kind }: Found) => `${uuid} ${kind}`;

/** What was found: the differences, and what makes the comparison less than whole. */
export type Findings = ReturnType<typeof createFindings>;

export function createFindings() {
  let named: Found[] = [];
  /** Of the stopped comparison that this one goes on with. */
  let before: ReadonlySet<string> = new Set();
  const unnamed: Partial<Record<Kind, number>> = {};
  const young = new Set<string>();
  const notes: string[] = [];
  const faults: string[] = [];
  return {
    /** Begins with what was found before the comparison was stopped; a list may bring the same again. */
    begin(found: readonly Found[]): void {
      named = [...found];
      before = new Set(found.map(keyOf));
    },
    add(...found: readonly Found[]): void {
      for (const each of found) {
        if (before.size > 0 && before.has(keyOf(each))) continue;
        if (named.length < MOST_NAMED) named.push(each);
        else unnamed[each.kind] = (unnamed[each.kind] ?? 0) + 1;
      }
    },
    /** What was noticed and changes nothing. */
    note: (line: string): void => void notes.push(line),
    /** What keeps the comparison from being whole. */
    fault: (line: string): void => void faults.push(line),
    /** It changed so lately that the others may not know of it. */
    leaveOut: (uuid: string): void => void (young.size < MOST_NAMED && young.add(uuid)),
    keep: (isLeft: (found: Found) => boolean): void => void (named = named.filter(isLeft)),
    named: (): readonly Found[] => named,
    /** How many more there are of a kind. */
    unnamed: (): Readonly<Partial<Record<Kind, number>>> => unnamed,
    young: () => young.size,
    notes: (): readonly string[] => notes,
    faults: (): readonly string[] => faults,
  };
}
