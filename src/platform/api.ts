import { setTimeout as sleepMs } from "node:timers/promises";
import type { PlatformCalls } from "./call.ts";
import {
  createThrottles,
  done,
  many,
  one,
  raw,
  type ResourceClient,
  type TokenSource,
  vars,
} from "./client.ts";
import { path, rawPath } from "./path.ts";
import type * as Platform from "./types.ts";

export type { TokenSource } from "./client.ts";

/** Drains are named by id, address or token; users may be "~". `Var`: the config vars of the offer, which alone can be set. */
export type ResourceApi<Var extends string = string> = ReturnType<typeof endpoints<Var>>;

/** The client of one resource: endpoints below `/addons/{uuid}` take no id, so that its token is never sent for another. */
export type PlatformFor = (uuid: string) => ResourceApi;

/**
 * Follows the platform document, "Add-on partner endpoints". Each method rejects with `PlatformRefused`,
 * `UnreadableAnswer`, `RateLimited`, a `TransportError`, or what the tokens' source rejects with. One try takes 15 s at most, and a call makes at most three, plus one after
 * a renewal of the token. The clock is replaced in tests.
 */
export function createPlatformFor(
  calls: PlatformCalls & { tokensOf(uuid: string): TokenSource },
  clock = systemClock(),
): PlatformFor {
  const { tokensOf, ...shared } = calls;
  const throttleOf = createThrottles(clock);
  const { sleep } = clock;
  return (uuid) => endpoints(uuid, { sleep, tokens: tokensOf(uuid), throttle: throttleOf(uuid), ...shared });
}

/** `pauses` is a factor of all waits. */
export const systemClock = (pauses = 1) => ({
  nowMs: () => performance.now(),
  sleep: (ms: number): Promise<unknown> => sleepMs(ms * pauses),
});

/** One line per endpoint. One that the platform has enabled for you is a line of {@link ofYours}. */
function endpoints<Var extends string = string>(uuid: string, on: ResourceClient) {
  return {
    ofYours: ofYours(uuid, on),
    addons: {
      own: () => one<Platform.Addon>(on, "GET", path`/addons/${uuid}`),
      list: () => many<Platform.Addon>(on, path`/addons`),
      ofUser: (user: string) => many<Platform.Addon>(on, path`/users/${user}/addons`),
      ofApp: (app: string) => many<Platform.Addon>(on, path`/apps/${app}/addons`),
    },
    attachments: {
      ofAddon: () => many<Platform.Attachment>(on, path`/addons/${uuid}/addon-attachments`, undefined, "app"),
      ofApp: (app: string) => many<Platform.Attachment>(on, path`/apps/${app}/addon-attachments`),
      get: (app: string, attachment: string) =>
        one<Platform.Attachment>(on, "GET", path`/apps/${app}/addon-attachments/${attachment}`),
    },
    config: {
      get: () => vars(on, "GET", path`/addons/${uuid}/config`),
      update: (config: Platform.ConfigVar<Var>[]) =>
        vars(on, "PATCH", path`/addons/${uuid}/config`, { config }),
    },
    apps: {
      get: (app: string) => one<Platform.App>(on, "GET", path`/apps/${app}`),
      list: () => many<Platform.App>(on, path`/apps`),
      ofUser: (user: string) => many<Platform.App>(on, path`/users/${user}/apps`),
      filter: (ids: string[]) => many<Platform.TeamApp>(on, path`/filters/apps`, { in: { id: ids } }),
    },
    collaborators: {
      ofApp: (app: string) => many<Platform.Collaborator>(on, path`/apps/${app}/collaborators`),
    },
    domains: {
      ofApp: (app: string) => many<Platform.Domain>(on, path`/apps/${app}/domains`),
    },
    logDrains: {
      ofAddon: () => many<Platform.LogDrain>(on, path`/addons/${uuid}/log-drains`),
      ofApp: (app: string) => many<Platform.LogDrain>(on, path`/apps/${app}/log-drains`),
      get: (app: string, drain: string) =>
        one<Platform.LogDrain>(on, "GET", path`/apps/${app}/log-drains/${drain}`),
      create: (app: string, url: string) =>
        one<Platform.LogDrain>(on, "POST", path`/apps/${app}/log-drains`, { url }),
      update: (drain: string, url: string) =>
        one<Platform.LogDrain>(on, "PUT", path`/addons/${uuid}/log-drains/${drain}`, { url }),
      remove: (app: string, drain: string) => done(on, "DELETE", path`/apps/${app}/log-drains/${drain}`),
    },
    pipelines: {
      get: (pipeline: string) => one<Platform.Pipeline>(on, "GET", path`/pipelines/${pipeline}`),
      list: () => many<Platform.Pipeline>(on, path`/pipelines`),
    },
    pipelineCouplings: {
      get: (coupling: string) =>
        one<Platform.PipelineCoupling>(on, "GET", path`/pipeline-couplings/${coupling}`),
      list: () => many<Platform.PipelineCoupling>(on, path`/pipeline-couplings`),
      ofPipeline: (pipeline: string) =>
        many<Platform.PipelineCoupling>(on, path`/pipelines/${pipeline}/pipeline-couplings`),
      ofApp: (app: string) =>
        one<Platform.PipelineCoupling>(on, "GET", path`/apps/${app}/pipeline-couplings`),
    },
    teamMembers: {
      ofTeam: (team: string) => many<Platform.TeamMember>(on, path`/teams/${team}/members`),
    },
    /** The end of an asynchronous provisioning: done, or failed for good (assumed, section 2). */
    actions: {
      provision: () => done(on, "POST", path`/addons/${uuid}/actions/provision`),
      deprovision: () => done(on, "POST", path`/addons/${uuid}/actions/deprovision`),
    },
    /** Any call that a person types, with a JSON text as its body; an error status is an answer too. */
    request: async (method: string, typedPath: string, body?: string) =>
      raw(on, { method, path: rawPath(typedPath, on.apiUrl, uuid), ...(body !== undefined && { body }) }),
  };
}

/**
 * Endpoints that the platform has enabled for your add-on alone: one line each, which gives it its type, its token, the
 * limits of calls and its name in metrics. The sandbox does not play them: test them with nock (docs/test-it.md).
 */
function ofYours(_uuid: string, _on: ResourceClient) {
  return {
    // scaling: (app: string) => one<{ dynos: number }>(on, "GET", path`/apps/${app}/scaling`),
  };
}
