/** Good, can wait, bad, or over (`gone`). */
export type Look = "well" | "wait" | "bad" | "gone";

const LOOKS: Readonly<Record<string, Look>> = {
  ...{ provisioned: "well", active: "well", done: "well" },
  ...{ provisioning: "wait", grant_pending: "wait", running: "wait", no_grant: "wait" },
  ...{ failed: "bad", grant_lost: "bad", needs_reauth: "bad", quarantined: "bad", stopped: "bad" },
  ...{ deprovisioned: "gone", erased: "gone" },
};

/** A state by its name, with a sign and a colour of the same meaning. */
export function State({ of, look = LOOKS[of] ?? "gone" }: { of: string; look?: Look }) {
  return <span class={`state ${look}`}>{of}</span>;
}
