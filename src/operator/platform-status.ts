import type { Config, SettingName } from "../config.ts";
import { KitError, messageOf } from "../errors.ts";
import { PlatformRefused } from "../platform/errors.ts";
import * as platform from "../platform/status.ts";
import type { CurrentStatus, Feed, Incident, Told } from "../platform/status.ts";
import { withHttp } from "../platform/http.ts";
import { isDay, UsedWrongly } from "./errors.ts";

export { openIncidents } from "../platform/status.ts";
export type { CurrentStatus, Incident, Told } from "../platform/status.ts";

/** The feed is public: only its address is needed. */
export const STATUS_SETTINGS = ["platformStatusUrl"] as const satisfies readonly SettingName[];

type Settings = Pick<Config, (typeof STATUS_SETTINGS)[number]>;

/** The feed cannot be read. The service does not depend on it. */
export class StatusUnavailable extends KitError {
  constructor(cause: unknown) {
    super("status_unavailable", `The status feed cannot be read: ${messageOf(cause)}`, { cause });
  }
}

/** The feed has no incident of this id. */
export class UnknownIncident extends KitError {
  constructor(id: string) {
    super("unknown_incident", `The status feed has no incident ${id}.`);
  }
}

/** The state of the platform's systems, open incidents, and maintenance. Throws {@link StatusUnavailable}. */
export function currentStatus(settings: Settings): Promise<Told<CurrentStatus>> {
  return asking(settings, (feed) => platform.currentStatus(feed));
}

/** The incidents since `since`, at most `perPage` of them. Throws {@link UsedWrongly} and {@link StatusUnavailable}. */
export async function listIncidents(
  settings: Settings,
  { since, perPage }: { since?: string | undefined; perPage?: string | undefined },
): Promise<Told<Incident[]>> {
  if (since !== undefined && !isDay(since))
    throw new UsedWrongly(`"${since}" is not a day. Write it like 2026-01-31.`);
  const query = { since, perPage: perPage === undefined ? undefined : positive(perPage, "--per-page") };
  return asking(settings, (feed) => platform.incidents(feed, query));
}

/** One incident. Throws {@link UsedWrongly}, {@link UnknownIncident} and {@link StatusUnavailable}. */
export async function showIncident(settings: Settings, typed: string): Promise<Told<Incident>> {
  const id = typed.trim();
  if (!/^[\w-]{1,64}$/.test(id))
    throw new UsedWrongly(`--incident takes the id of an incident, not "${typed}".`);
  return asking(
    settings,
    (feed) => platform.incident(feed, id),
    (status) => (status === 404 ? new UnknownIncident(id) : null),
  );
}

async function asking<T>(
  { platformStatusUrl: statusUrl }: Settings,
  ask: (feed: Feed) => Promise<T>,
  meaningOf: (status: number) => KitError | null = () => null,
): Promise<T> {
  try {
    return await withHttp((http) => ask({ http, statusUrl }));
  } catch (error) {
    throw (error instanceof PlatformRefused && meaningOf(error.status)) || new StatusUnavailable(error);
  }
}

function positive(text: string, option: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number > 0) return number;
  throw new UsedWrongly(`${option} takes a whole number from 1 on, not "${text}".`);
}
