import { closeAll } from "./close-all.ts";
import type { Config } from "./config.ts";
import type { CustomerPage } from "./customer/contract.ts";
import { createCustomers } from "./customer/customers.ts";
import { createPruneCustomers } from "./customer/prune.ts";
import { openDatabase, statement, type Database } from "./database/database.ts";
import { createJobs, type Jobs } from "./jobs/run.ts";
import { timetable, type JobName } from "./jobs/timetable.ts";
import { createLog, type Log } from "./log.ts";
import { createKeptMetrics } from "./metrics/kept-metrics.ts";
import { countedTokens } from "./metrics/counted-tokens.ts";
import { createMetrics } from "./metrics/metrics.ts";
import { timedDatabase } from "./metrics/timed-database.ts";
import { timedHttp } from "./metrics/timed-http.ts";
import { createOwnScrubber } from "./own-secrets.ts";
import { createPages } from "./pages/pages.tsx";
import { createPlatformApi } from "./platform/api.ts";
import { createHttp } from "./platform/http.ts";
import { createOauthGrantEndpoint } from "./platform/oauth-grant.ts";
import { createTokenEndpoint, type TokenEndpoint } from "./platform/oauth.ts";
import { createStatusFeed } from "./platform/status.ts";
import { createIncidentNotes } from "./platform/status-notes.ts";
import { createStatusWatch } from "./platform/status-watch.ts";
import { createRefusedSample } from "./refused-sample.ts";
import { checkOffer } from "./resources/check-offer.ts";
import type { Offer, YourService } from "./resources/contract.ts";
import { createCredentials } from "./resources/credentials/credentials.ts";
import { createLifecycle } from "./resources/lifecycle.ts";
import { createPlatformFor } from "./resources/platform-for.ts";
import { createRecover } from "./resources/recover.ts";
import { createPrune } from "./sign-in/prune.ts";
import { createSignIn, type SignIn } from "./sign-in/sign-in.ts";
import { createVault } from "./vault/vault.ts";
import { createYourService } from "./your-service/index.ts";
import { offer as yourOffer } from "./your-service/plans.ts";

/** What can stand in the place of a part, or around it: for tests, and for another vendor's service. */
export interface Parts {
  offer: Offer;
  vendor: YourService;
  customerPage: CustomerPage;
  /** Where log lines go; standard output unless given. */
  logTo: { write(line: string): void };
  wrapDatabase(database: Database): Database;
  wrapTokenEndpoint(endpoint: TokenEndpoint): TokenEndpoint;
}

export type Services = Awaited<ReturnType<typeof createServices>>;

const beat = statement(
  "beat",
  `INSERT INTO heartbeats (name, at) VALUES ($1, now()) ON CONFLICT (name) DO UPDATE SET at = now()`,
);

/**
 * Puts the parts together, once: the only file that knows them all. Nothing runs yet. `role` is `owner` for the process
 * that serves and `guest` for a command beside it (it matters on the embedded database). Throws `Misconfigured` where
 * what is on offer does not fit together.
 */
export async function createServices(config: Config, role: "owner" | "guest", parts: Partial<Parts> = {}) {
  const offer = parts.offer ?? yourOffer;
  checkOffer(offer);
  const scrubber = createOwnScrubber(config);
  const metrics = createMetrics();
  // On connections of its own, so that a feed that hangs takes none from anybody.
  const statusHttp = timedHttp(createHttp({ maxSockets: 1 }), metrics);
  const status = createStatusWatch({
    feed: createStatusFeed({ http: statusHttp, statusUrl: config.platformStatusUrl }),
  });
  const noteOn = createIncidentNotes({ watch: status, tell: (note, text) => log.warn(note, text) });
  const log: Log = createLog(config.logLevel, scrubber, parts.logTo, (alarm) => {
    metrics.alarm(alarm);
    return noteOn(alarm);
  });
  const vault = await createVault(config);
  const opened = await openDatabase({
    url: config.databaseUrl?.reveal(),
    dataDir: config.dataDir,
    role,
    poolSize: config.databasePool,
    ca: config.databaseCa,
    log,
  });
  const db = timedDatabase(parts.wrapDatabase?.(opened) ?? opened, metrics);
  const http = timedHttp(createHttp({ maxSockets: SOCKETS_FOR_API }), metrics);
  // No call waits here for a connection: the time it waited would be missing when its tokens are on their way. How many
  // calls there are at once is decided before.
  const tokenHttp = timedHttp(createHttp({ maxSockets: Infinity }), metrics);
  const endpoint = createTokenEndpoint({ http: tokenHttp, authUrl: config.platformAuthUrl });
  const calls = { http, apiUrl: config.platformApiUrl, mediaType: config.platformMediaType };
  const api = createPlatformApi(calls);
  // With others in its place, yours is not made.
  let own: ReturnType<typeof createYourService> | undefined;
  const yours = async () => {
    try {
      return (own ??= createYourService(config.yours));
    } catch (error) {
      // An embedded database that stays open would keep the process from ending.
      await opened.close();
      throw error;
    }
  };

  // What follows a step may stand in the other lane.
  const onSettled = () => {
    jobs.wake("run-steps", AFTER_AN_END_MS);
    jobs.wake("run-vendor-steps", AFTER_AN_END_MS);
  };
  const credentials = createCredentials({
    db,
    vault,
    scrubber,
    log,
    endpoint: countedTokens(parts.wrapTokenEndpoint?.(endpoint) ?? endpoint, metrics),
    concurrency: config.tokenConcurrency,
    onIssued(refreshInSeconds) {
      onSettled();
      jobs.wake("find-late-steps", AFTER_TOKENS_MS);
      // Tokens live for hours; those of a sandbox may be made to live for seconds, less than a sweep is away.
      if (refreshInSeconds < 60) jobs.wake("refresh-tokens", refreshInSeconds * 1_000);
    },
    onLost: (uuid) => lifecycle.failStranded(uuid),
    onGrantEnd: () => jobs.wake("exchange-grants", AFTER_AN_END_MS),
    onRefreshEnd: () => jobs.wake("refresh-tokens", AFTER_AN_END_MS),
    onSteal: metrics.steal,
    onOutage: metrics.breakerOpens,
  });
  const platformFor = createPlatformFor(api, credentials.tokensOf);
  const { addonId, addonPassword } = config;
  const grants = createOauthGrantEndpoint({ ...calls, addonId, addonPassword });
  const recover = createRecover({ db, vault, endpoint: grants });
  const vendor = parts.vendor ?? (await yours());
  const lifecycle = createLifecycle({
    ...{ db, vault, offer, vendor, platformFor, scrubber, onSettled, log },
    grantsBehindForMs: credentials.grants.behindForMs,
  });
  const pages = createPages({ siteName: config.addonId, publicUrl: config.publicUrl });
  const signIn = peopleSignIn(config, {
    ...{ ...calls, db, vault, pages, scrubber, log },
    onStored(lifeSeconds) {
      if (lifeSeconds < 120) jobs.wake("refresh-people", lifeSeconds * 500);
    },
    onRefreshEnd: () => jobs.wake("refresh-people", AFTER_AN_END_MS),
  });
  const { ssoSalt: salt, ssoRequireUser: mustNameUser } = config;
  const customerPage = parts.customerPage ?? (await yours()).customerPage;
  const customers = salt
    ? createCustomers({ salt, mustNameUser, customerPage, db, vault, pages, scrubber, log })
    : null;
  const prune = { pruneSignIns: createPrune(db), pruneCustomers: createPruneCustomers(db) };
  const jobs: Jobs<JobName> = createJobs({
    jobs: timetable({ db, credentials, lifecycle, platformFor, signIn, ...prune, log }),
    beat: async (name) => void (await db.query(beat, [name])),
    log,
  });
  const keptMetrics = createKeptMetrics({ db, metrics, jobs: jobs.names, log });

  return {
    ...{ config, log, scrubber, vault, db, offer, credentials, lifecycle, platformFor, recover, jobs },
    ...{ pages, signIn, metrics, refusedSample: createRefusedSample(log) },
    keptMetrics,
    customers,
    status,
    /**
     * Ends what was opened here, in reverse order: nothing is claimed any more, and what was sent is stored. Throws what
     * the vendor's `close` throws, when all is closed.
     */
    close: () =>
      closeAll([
        () => status.close(),
        () => jobs.stop(),
        () => keptMetrics.stop(),
        // Also what was sent for somebody who is gone: a page that was answered without it, a step that was stopped.
        () => Promise.all([credentials.refresh.settled(), signIn?.refreshesSettled()]),
        () => Promise.all([http.close(), tokenHttp.close(), statusHttp.close()]),
        () => (parts.vendor ?? own)?.close?.(),
        () => db.close(),
      ]),
  };
}

/** People coming in by the platform's web flow, where a client is registered for it; else null. */
function peopleSignIn(
  { oauthClientId: id, oauthClientSecret: secret, platformAuthUrl: authUrl }: Config,
  parts: Omit<Parameters<typeof createSignIn>[0], "client" | "authUrl" | "endpoint">,
): SignIn | null {
  if (!id || !secret) return null;
  const endpoint = createTokenEndpoint({ http: parts.http, authUrl, timeoutMs: PERSON_WAITS_MS });
  return createSignIn({ ...parts, authUrl, endpoint, client: { id, secret } });
}

/** What ended may leave something due; one look serves all that ends within this time. */
const AFTER_AN_END_MS = 50;
/** A step that was put off while its tokens were being stored is looked for after this; so all of a burst cost one look. */
const AFTER_TOKENS_MS = 5_000;
/** Connections to the platform's API; more calls wait for one. */
const SOCKETS_FOR_API = 64;
/** How long a call to the token endpoint may take while somebody looks at their browser. */
const PERSON_WAITS_MS = 10_000;
