/** `well`, `wait` (may wait), `bad`, or none of these any more. */
export type Look = "well" | "wait" | "bad" | "gone";

const LOOKS: Readonly<Record<string, Look>> = {
  ...{ provisioned: "well", active: "well", done: "well" },
  ...{ provisioning: "wait", grant_pending: "wait", running: "wait", no_grant: "wait" },
  ...{ failed: "bad", grant_lost: "bad", needs_reauth: "bad", quarantined: "bad", stopped: "bad" },
  ...{ deprovisioned: "gone", erased: "gone" },
};

/** A state in its own word, with a sign and a colour that say the same. */
export function State({ of, look = LOOKS[of] ?? "gone" }: { of: string; look?: Look }) {
  return <span class={`state ${look}`}>{of}</span>;
}
