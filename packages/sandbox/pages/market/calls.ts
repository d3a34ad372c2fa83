import type { Platform } from "../../platform.ts";
import type { LedgerEntry } from "../../wire/ledger.ts";
import type { AddonRecord } from "../../world/records.ts";
import type { World } from "../../world/world.ts";

/** A call as it may be shown, and the add-on it concerns. */
export interface Call extends LedgerEntry {
  addon: AddonRecord | null;
}

interface CallsWish {
  /** Only calls about this add-on. */
  addonId?: string;
  /** Only calls before the one with this number, in the order in which they ended. */
  before?: number;
  most: number;
}

/** How many calls back the calls of one add-on are searched. */
const FURTHEST = 600;

/** The latest calls, the newest last, and whether there are earlier ones. */
export function latestCalls({ world, ledger }: Platform, { addonId, before, most }: CallsWish) {
  const end = Math.min(before ?? Infinity, ledger.last() + 1);
  const since = Math.max(0, end - 1 - (addonId === undefined ? most + 1 : FURTHEST));
  const shown = ledger.read({ since }).entries;
  const found = ledger
    .read({ since, reveal: true })
    .entries.map((entry, index) => ({ ...shown[index]!, addon: addonOf(world, entry) }))
    .filter(({ seq, addon }) => seq < end && (addonId === undefined || addon?.id === addonId));
  return { calls: found.slice(-most), hasEarlier: found.length > most };
}

/** Finds the add-on by an id, code or token that the call carries; none of these is shown. */
function addonOf(world: World, { path, request }: LedgerEntry): AddonRecord | null {
  const body = (typeof request.body === "object" ? request.body : null) as Record<string, unknown> | null;
  const member = (name: string) => String(body?.[name] ?? "");
  const bearer = /^Bearer (\S+)$/i.exec(String(request.headers["authorization"] ?? ""))?.[1] ?? "";
  const authorizationId =
    world.accessTokens.get(bearer)?.authorizationId ??
    world.refreshTokens.get(member("refresh_token"))?.authorizationId;
  const [uuid] = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(path) ?? [];
  const ids = [
    uuid,
    member("uuid"),
    member("resource_id"),
    world.grants.get(member("code"))?.addonId,
    authorizationId && world.authorizations.get(authorizationId)?.addonId,
  ];
  for (const id of ids) {
    const addon = id && world.addons.get(id);
    if (addon) return addon;
  }
  return null;
}
