import type { Context } from "../../context.ts";
import type { Addon } from "../../platform/types.ts";
import { Secret } from "../../secret.ts";
import { comparedVars, differing } from "../config-vars.ts";
import { counted } from "../wording.ts";
import type { Word } from "./ask-platform.ts";
import type { Found } from "./differences.ts";
import type { OwnRow } from "./store.ts";

// What differs between a resource of ours and what the others say of it.

/** A list may have been taken before a customer came. */
const YOUNGER_THAN_THE_LIST_SECONDS = 600;

/** `isUnlisted`: a list was given, and does not have it. `tooYoung`: that says nothing yet. */
export function judge(
  ctx: Pick<Context, "vault" | "offer">,
  row: OwnRow,
  word: Word | null,
  isUnlisted: boolean,
): Found[] | "too_young" {
  const { uuid, state: ours } = row;
  const gone = (theirs: string): Found[] => [{ uuid, kind: "gone_at_platform", ours, theirs, isUnlisted }];
  const isYoung = row.ageSeconds < YOUNGER_THAN_THE_LIST_SECONDS;
  if (word?.is === "gone") return gone(isUnlisted ? `${word.why}, not in the list` : word.why);
  if (word?.is === "refused")
    return isUnlisted
      ? gone("not in the list, token refused")
      : [{ uuid, kind: "tokens_refused", ours, theirs: word.why }];
  if (isUnlisted && isYoung) return "too_young";
  const unlisted = isUnlisted
    ? gone(word?.is === "there" ? "not in the list, yet there" : "not in the list")
    : [];
  return word?.is === "there" ? [...unlisted, ...differencesOf(ctx, row, word)] : unlisted;
}

/** The platform's, by its bare name. */
export const planOf = (addon: Addon, row: OwnRow): string =>
  String(addon.plan?.name ?? row.plan).replace(/^[^:]*:/, "");

/** Of an add-on that both have. While something is under way both sides are right. */
function differencesOf(
  { vault, offer }: Pick<Context, "vault" | "offer">,
  row: OwnRow,
  { addon, attached, config }: Extract<Word, { is: "there" }>,
): Found[] {
  const { uuid, appId, appName } = row;
  if (row.isUnderWay || addon.state === "deprovisioning") return [];
  const found: Found[] = [];
  if (row.state !== addon.state)
    found.push({ uuid, kind: "state_differs", ours: row.state, theirs: String(addon.state) });
  const plan = planOf(addon, row);
  if (plan !== row.plan) found.push({ uuid, kind: "plan_differs", ours: row.plan, theirs: plan, plan });
  const [here, there] = [row.attached ?? attached, attached];
  const isOther = addon.app?.id !== undefined && (addon.app.id !== appId || addon.app.name !== appName);
  if (isOther || here !== there)
    found.push({
      uuid,
      kind: "app_differs",
      ours: appName === null ? null : `${appName}, ${counted(here, "attachment")}`,
      theirs: `${addon.app?.name}, ${counted(there, "attachment")}`,
    });
  const vars = differing(comparedVars({ vault, offer }, row, config));
  const shown = (which: "value" | "platform") =>
    vars.map((each) => `${each.name}=${fingerprint(vault, each[which])}`).join(", ");
  if (vars.length > 0)
    found.push({ uuid, kind: "config_differs", ours: shown("value"), theirs: shown("platform") });
  return found;
}

/** Equal values have the same, and it says nothing of the value. */
function fingerprint(vault: Context["vault"], value: Secret | string | null): string {
  if (value === null) return "none";
  const hash = vault.hash(typeof value === "string" ? new Secret(value) : value);
  return Buffer.from(hash).toString("hex", 0, 4);
}
