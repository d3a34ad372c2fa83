import type { Config, SettingName } from "../config.ts";
import { KitError, messageOf } from "../errors.ts";
import { PlatformRefused } from "../platform/errors.ts";
import { withHttp } from "../platform/http.ts";
import * as platform from "../platform/status.ts";
import type { CurrentStatus, Feed, Incident, Told } from "../platform/status.ts";
import { UsedWrongly } from "./errors.ts";

/** The feed is public: only its address is needed. */
export const STATUS_SETTINGS = ["platformStatusUrl"] as const satisfies readonly SettingName[];
type Settings = Pick<Config, (typeof STATUS_SETTINGS)[number]>;

/** The state of the platform's systems, open incidents, and maintenance. Throws `status_unavailable`. */
export function currentStatus(settings: Settings): Promise<Told<CurrentStatus>> {
  return asking(settings, (feed) => platform.currentStatus(feed));
}

/** The incidents since `since`, at most `perPage` of them. Throws {@link UsedWrongly} and `status_unavailable`. */
export async function listIncidents(
  settings: Settings,
  { since, perPage }: { since?: string | undefined; perPage?: string | undefined },
): Promise<Told<Incident[]>> {
  if (since !== undefined && !isDay(since))
    throw new UsedWrongly(`"${since}" is not a day. Write it like 2026-01-31.`);
  if (perPage !== undefined && !/^[1-9]\d{0,8}$/.test(perPage))
    throw new UsedWrongly(`--per-page takes a whole number from 1 on, not "${perPage}".`);
  const query = { since, perPage: perPage === undefined ? undefined : Number(perPage) };
  return asking(settings, (feed) => platform.incidents(feed, query));
}

/** One incident. Throws {@link UsedWrongly}, `unknown_incident` and `status_unavailable`. */
export async function showIncident(settings: Settings, typed: string): Promise<Told<Incident>> {
  const id = typed.trim();
  if (!/^[\w-]{1,64}$/.test(id))
    throw new UsedWrongly(`--incident takes the id of an incident, not "${typed}".`);
  const unknown = new KitError("unknown_incident", `The status feed has no incident ${id}.`);
  return asking(settings, (feed) => platform.incident(feed, id), unknown);
}

/** The latest update, if there is one. In which order the feed lists updates, the platform's document does not say. */
export function latestUpdate({ updates }: Incident): Incident["updates"][number] | undefined {
  const at = (update: Incident["updates"][number]) => Date.parse(update.created_at ?? "") || 0;
  return updates.toSorted((one, other) => at(other) - at(one))[0];
}

async function asking<T>(
  { platformStatusUrl: statusUrl }: Settings,
  ask: (feed: Feed) => Promise<T>,
  ifNotFound?: KitError,
): Promise<T> {
  try {
    return await withHttp((http) => ask({ http, statusUrl }));
  } catch (error) {
    if (ifNotFound && error instanceof PlatformRefused && error.status === 404) throw ifNotFound;
    const message = `The status feed cannot be read: ${messageOf(error)}. Grants and refreshes go on without it.`;
    throw new KitError("status_unavailable", message, { cause: error });
  }
}

/** Whether a text is an existing date: 2026-02-30 is not, though `Date.parse` alone reads it as a day in March. */
function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}
