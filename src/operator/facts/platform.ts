import { counted } from "../wording.ts";
import { fact } from "./fact.ts";

// What may be wrong with the platform, with the processes that run, or with their clocks.

const LOOK_AGAIN =
  "Look again when the platform answers (kit status). Is PLATFORM_AUTH_URL its authorization service?";

interface Words {
  words: string;
}
const asItIs = ({ words }: Words) => words;

export const OF_THE_SURROUNDINGS = {
  platform_unreachable: fact<Words>({
    title: "The platform cannot be reached",
    urgency: "urgent",
    says: asItIs,
    names: "the setting of its address",
    cure: "Is the address right, and open to us?",
    command: "kit status",
    runbook: "The platform does not answer",
    noAlert:
      "`AddonGrantsWait`, `AddonPlatformFails` or `AddonRefreshesWait` rings once calls have failed for long",
  }),
  platform_fails: fact<Words>({
    title: "The platform fails",
    urgency: "now",
    says: asItIs,
    names: "the setting of its address",
    cure: "Wait for its end: kit status shows its incidents. What fails now is tried again: grants for five minutes, tokens for hours.",
    command: "kit status",
    runbook: "The platform does not answer",
    noAlert:
      "`AddonGrantsWait`, `AddonPlatformFails` or `AddonRefreshesWait` rings once calls have failed for long",
  }),
  platform_odd: fact<Words>({
    title: "The platform answers oddly",
    urgency: "later",
    says: asItIs,
    names: "the setting of its address",
    cure: "Are the address and PLATFORM_MEDIA_TYPE right, and does nothing else answer in the platform's place? If so: kit status",
    command: "kit status",
    runbook: "The platform does not answer",
    noAlert:
      "`AddonGrantsWait`, `AddonPlatformFails` or `AddonRefreshesWait` rings once calls have failed for long",
  }),
  incident_open: fact<{ titles: readonly string[] }>({
    title: "The platform has an incident",
    urgency: "later",
    says: ({ titles }) => `${counted(titles.length, "incident")} open at the platform: ${titles.join("; ")}`,
    names: "the incidents",
    cure: "Read more: kit status",
    command: "kit status",
    runbook: "The platform does not answer",
    noAlert: "the platform's own status page rings for it",
  }),
  status_unreadable: fact<Words>({
    title: "The platform's status feed cannot be read",
    urgency: "later",
    says: ({ words }) => `The status feed cannot be read: ${words}`,
    cure: "Check PLATFORM_STATUS_URL. Nothing depends on the feed.",
    causes: ["platform_unreachable", "platform_fails"],
    runbook: "The platform does not answer",
    noAlert: "nothing depends on the feed",
  }),
  passwords_wrong: fact<{ count: number; user: string; last: string | null }>({
    title: "The platform's calls have a wrong password",
    urgency: "now",
    says: ({ count, user, last }) =>
      `${counted(count, "call")} of the user ${user} had a wrong password: the answer was 401; ${last === null ? "no call has had the right one" : `the last call with the right one came at ${last} (UTC)`}. If they are the platform's, nobody can install, change a plan or leave.`,
    cure: "The log's lines “answered 401 to a wrong password” have their address. If it is the platform's: compare the password in the partner portal with ADDON_PASSWORD, set the right one, and restart. If it is a stranger's, nothing is to do.",
    runbook: "AddonPlatformPasswordWrong",
    alerts: ["AddonPlatformPasswordWrong"],
  }),
  sign_in_rejected: fact({
    title: "The platform rejects the client that people sign in with",
    urgency: "urgent",
    says: () => "The platform rejects OAUTH_CLIENT_SECRET: people cannot sign in with their account.",
    cure: "Set OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET to what the platform shows now, and restart.",
    runbook: "Sign-in with an account",
    alarms: ["oauth_client_rejected"],
  }),
  sign_in_unknown: fact<{ because: string }>({
    title: "Whether people can sign in is not known",
    urgency: "later",
    says: ({ because }) => `Whether the platform accepts OAUTH_CLIENT_SECRET is not known: ${because}.`,
    cure: LOOK_AGAIN,
    command: "kit status",
    causes: ["platform_unreachable", "platform_fails", "platform_odd"],
    runbook: "Sign-in with an account",
    noAlert: "`oauth_client_rejected` follows if people cannot sign in",
  }),
  clocks_apart: fact<{ words: string; cure: string }>({
    title: "Clocks are apart",
    urgency: "urgent",
    says: asItIs,
    names: "the clock",
    cure: ({ cure }) => cure,
    runbook: "AddonClocksApart",
    alerts: ["AddonClocksApart"],
    alarms: ["clocks_apart"],
  }),
  process_missing: fact<{ words: string; isReplaced: boolean; role: string }>({
    title: "A process has sent no heartbeat",
    urgency: { usually: "later", isUrgent: ({ isReplaced }) => !isReplaced },
    says: ({ words, isReplaced, role }) =>
      isReplaced ? `${words} Another ${role} was started since.` : words,
    names: "the process",
    cure: ({ isReplaced }) =>
      isReplaced
        ? "If that one replaced it, there is nothing to do: this ends an hour after its last heartbeat. If it still stands there, kill it."
        : "Look at its machine: is it there, does it use a whole processor, is its log silent? Kill what stands still, and start another one.",
    command: "kit processes",
    runbook: "AddonProcessMissing",
    alerts: ["AddonProcessMissing"],
    alarms: ["process_missing"],
  }),
  process_late: fact<{ name: string }>({
    title: "A process is late with its heartbeat",
    urgency: "now",
    says: ({ name }) =>
      `${name} has missed two heartbeats or more, of one every ten seconds: it may have been killed, stand still, or not reach the database.`,
    names: "the process",
    cure: "Look whether it is there; after a minute it counts as missing. If it was the only web process, start one: provisions are being lost.",
    command: "kit processes",
    runbook: "AddonProcessMissing",
    noAlert: "`AddonProcessMissing` rings if it lasts a minute",
  }),
  process_misconfigured: fact<{ name: string; why: string }>({
    title: "A process ended with 78",
    urgency: "urgent",
    says: ({ name, why }) => `${name} ended with the exit code 78; at fault: ${why}.`,
    names: "the process",
    cure: "Its last output says what is wrong with that: fix it in its environment, and start it again.",
    command: "kit processes",
    causes: ["key_missing", "migrations_missing"],
    runbook: "AddonProcessMisconfigured",
    alerts: ["AddonProcessMisconfigured"],
  }),
  keys_differ: fact<{ name: string; keyId: string | null; lacking: string }>({
    title: "A process seals with a key that others cannot decrypt with",
    urgency: "urgent",
    says: ({ name, keyId, lacking }) =>
      `${name} seals with key ${keyId}, which ${lacking} cannot decrypt with: there, what it seals is quarantined.`,
    names: "the processes",
    cure: "Give all processes the same ENCRYPTION_KEY, and the other key as one of DECRYPTION_KEYS (docs/rotate.md); what was quarantined is then used again.",
    command: "kit processes",
    runbook: "AddonKeysDiffer",
    alerts: ["AddonKeysDiffer"],
    alarms: ["keys_differ"],
  }),
  no_process: fact({
    title: "No process answers",
    urgency: "urgent",
    says: () => "No process runs: the last one has ended.",
    cure: "Start the web process. The last output of the one that ended says why it did.",
    command: "kit processes",
    causes: ["process_misconfigured"],
    runbook: "AddonDown",
    alerts: ["AddonDown"],
  }),
  processes_few: fact<{ ready: number; expected: number }>({
    title: "Too few processes run",
    urgency: "urgent",
    says: ({ ready, expected }) => `${ready} of the ${expected} processes of PROCESSES_EXPECTED are ready.`,
    cure: "Start the others; kit processes shows which ended, and how.",
    command: "kit processes",
    causes: ["process_misconfigured", "process_missing"],
    runbook: "AddonProcessesFew",
    alerts: ["AddonProcessesFew"],
  }),
  builds_differ: fact<{ builds: readonly string[] }>({
    title: "Several builds run beside each other",
    urgency: "later",
    says: ({ builds }) => `${builds.length} builds run beside each other: ${builds.join(" and ")}.`,
    names: "the builds",
    cure: "End the deploy, or roll it back; kit processes shows which process runs which.",
    command: "kit processes",
    runbook: "AddonBuildsDiffer",
    alerts: ["AddonBuildsDiffer"],
  }),
};
