import { closeAll } from "./close-all.ts";
import type { Config } from "./config.ts";
import type { Context } from "./context.ts";
import type { CustomerPage } from "./customer/contract.ts";
import { createPruneCustomers } from "./customer/prune.ts";
import {
  createOutageWatch,
  DATABASE_UNREACHABLE,
  isUnreachable,
  openDatabase,
  statement,
  type Database,
} from "./database/database.ts";
import { createJobs, type Jobs } from "./jobs/run.ts";
import { timetable, type JobName } from "./jobs/timetable.ts";
import { createLog, type Log } from "./logging/log.ts";
import { createRepeats, type CauseOf } from "./logging/repeats.ts";
import { createClocks } from "./metrics/clocks.ts";
import { countedTokens, timedDatabase, timedHttp } from "./metrics/measured-parts.ts";
import { createMetrics } from "./metrics/metrics.ts";
import { createTotals } from "./metrics/totals.ts";
import { createOwnScrubber } from "./logging/own-secrets.ts";
import { PACE, type Pace } from "./pace.ts";
import { createPlatformApi } from "./platform/api.ts";
import { createHttp, type Http } from "./platform/http.ts";
import { isPlatformAway } from "./platform/api-errors.ts";
import { createOauthGrantEndpoint } from "./platform/oauth-grant.ts";
import { createTokenEndpoint, type TokenEndpoint } from "./platform/oauth.ts";
import { createStatusFeed } from "./platform/status.ts";
import { createIncidentNotes } from "./platform/status-notes.ts";
import { createStatusWatch } from "./platform/status-watch.ts";
import { checkOffer } from "./resources/check-offer.ts";
import type { Offer, YourService } from "./resources/contract.ts";
import { createCredentials } from "./credentials/credentials.ts";
import { createAnswers } from "./resources/answers.ts";
import { createLostProvisions } from "./resources/lost-provisions.ts";
import { createPlatformFor } from "./resources/platform-for.ts";
import { createFailStranded, failProvision } from "./resources/provision-failure.ts";
import { createProvisionStore } from "./resources/provision-store.ts";
import { createRecover } from "./resources/recover.ts";
import { createPeopleTokens, type PeopleTokens } from "./sign-in/people-tokens.ts";
import { createPrune } from "./sign-in/prune.ts";
import { createVault } from "./vault/vault.ts";
import { createGrantsFirst } from "./work/grants-first.ts";
import { createStepQueue } from "./work/queue.ts";
import { createStepRunner } from "./work/runner.ts";
import { createSettlements } from "./work/settle.ts";
import { createYourService } from "./your-service/index.ts";
import { offer as yourOffer } from "./your-service/plans.ts";

/** Replacements for parts, or wrappers around them: for tests, and for another vendor's service. */
export interface Parts {
  offer: Offer;
  vendor: YourService;
  customerPage: CustomerPage;
  /** Where log lines go; standard output unless given. */
  logTo: { write(line: string): void };
  wrapDatabase(database: Database): Database;
  pace: Partial<Pace>;
  wrapTokenEndpoint(endpoint: TokenEndpoint): TokenEndpoint;
}

export type Services = Awaited<ReturnType<typeof createServices>>;

const beat = statement(
  "beat",
  `INSERT INTO heartbeats (name, at) VALUES ($1, now()) ON CONFLICT (name) DO UPDATE SET at = now()`,
);

/**
 * Makes the parts of every process, and connects them. Nothing runs yet. The web process adds its routes
 * (process/run-web.ts, website.ts), which no command and no worker loads. Throws `Misconfigured` if the offer contradicts
 * itself, or a file that `DATABASE_CA` names cannot be read.
 */
export async function createServices(config: Config, parts: Partial<Parts> = {}) {
  const offer = parts.offer ?? yourOffer;
  checkOffer(offer);
  const pace = { ...PACE, ...parts.pace };
  const scrubber = createOwnScrubber(config);
  const metrics = createMetrics();
  const repeats = createRepeats(causeOf, pace.logAgainMs);
  const clocks = createClocks(() => ({ db, askPlatform: status.look, log }));
  const platformHttp = (maxSockets: number): Http =>
    timedHttp(clocks.readingDates(createHttp({ maxSockets })), metrics);
  // With connections of its own, so that a status feed that hangs takes none from other calls.
  const statusHttp = platformHttp(1);
  const status = createStatusWatch({
    feed: createStatusFeed({ http: statusHttp, statusUrl: config.platformStatusUrl }),
  });
  const noteOn = createIncidentNotes({ watch: status, tell: (note, text) => log.warn(note, text) });
  const onAlarm = (alarm: string) => {
    metrics.alarm(alarm);
    return noteOn(alarm);
  };
  const log: Log = createLog(config.logLevel, scrubber, parts.logTo, onAlarm, repeats);
  const vault = await createVault(config);
  const opened = openDatabase({
    url: config.databaseUrl.reveal(),
    poolSize: config.databasePool,
    ca: config.databaseCa,
    onError: (error) => isRunning && outages.noticed(error),
  });
  const db = timedDatabase(parts.wrapDatabase?.(opened) ?? opened, metrics);
  let isRunning = false;
  const outages = createOutageWatch({ ping: db.ping, forget: repeats.over, log });
  const http = platformHttp(SOCKETS_FOR_API);
  // No limit on connections: time spent waiting for one would be missing from the time in which the tokens must arrive.
  // `TOKEN_CONCURRENCY` limits the calls before they come here.
  const tokenHttp = platformHttp(Infinity);
  const endpoint = createTokenEndpoint({ http: tokenHttp, authUrl: config.platformAuthUrl });
  const calls = { http, apiUrl: config.platformApiUrl, mediaType: config.platformMediaType };
  const api = createPlatformApi(calls);
  // Your service is made only if `parts` does not replace it.
  let own: ReturnType<typeof createYourService> | undefined;
  const yours = () => (own ??= createYourService(config.yours));

  // The next step may be in the other lane.
  const nudge = () => {
    jobs.wake("run-steps", AFTER_AN_END_MS);
    jobs.wake("run-vendor-steps", AFTER_AN_END_MS);
  };
  const grantsFirst = createGrantsFirst();
  const credentials = createCredentials({
    db,
    vault,
    scrubber,
    log,
    pace,
    endpoint: countedTokens(parts.wrapTokenEndpoint?.(endpoint) ?? endpoint, metrics),
    concurrency: config.tokenConcurrency,
    grantsFirst,
    onIssued(refreshInSeconds) {
      nudge();
      jobs.wake("find-late-steps", AFTER_TOKENS_MS);
      // Tokens live for hours. A sandbox may give them a life of seconds, which would end before the next sweep.
      if (refreshInSeconds < 60) jobs.wake("refresh-tokens", refreshInSeconds * 1_000);
    },
    onLost: (uuid) => failProvision(ctx, uuid, { onlyIfStranded: true }),
    onGrantEnd: () => jobs.wake("exchange-grants", AFTER_AN_END_MS),
    onRefreshEnd: () => jobs.wake("refresh-tokens", AFTER_AN_END_MS),
    onSteal: metrics.steal,
    onBreakerOpen: metrics.breakerOpens,
  });
  const platformFor = createPlatformFor(api, credentials.tokensOf);
  const { addonId, addonPassword } = config;
  const grants = createOauthGrantEndpoint({ ...calls, addonId, addonPassword });
  const recover = createRecover({ db, vault, endpoint: grants });
  const vendor = parts.vendor ?? yours();
  const made = {
    ...{ db, vault, offer, vendor, platformFor, scrubber, log, pace },
    provisions: createProvisionStore(db, vault, pace),
    answers: createAnswers(db, vault, pace),
    steps: createStepQueue(db),
    settlements: createSettlements(db, vault),
  };
  const work = createStepRunner(made, grantsFirst, nudge);
  const ctx: Context = { ...made, work };
  const peopleTokens = peopleTokensOf(config, {
    ...{ http, db, vault, log },
    onRefreshEnd: () => jobs.wake("refresh-people", AFTER_AN_END_MS),
  });
  const customerPage = parts.customerPage ?? yours().customerPage;
  const lostProvisions = createLostProvisions({ db, log });
  const prune = {
    pruneSignIns: createPrune(db),
    pruneCustomers: createPruneCustomers(db),
    pruneLostProvisions: lostProvisions.prune,
  };
  const jobs: Jobs<JobName> = createJobs({
    jobs: timetable({
      db,
      credentials,
      work,
      failStranded: createFailStranded(ctx),
      platformFor,
      peopleTokens,
      ...prune,
      log,
    }),
    beat: async (name) => void (await db.query(beat, [name])),
    log,
  });
  const totals = createTotals({ db, metrics, log });

  return {
    ...{ config, log, scrubber, vault, db, offer, credentials, ctx, work, platformFor, recover, jobs, pace },
    ...{ platformCalls: calls, peopleTokens, customerPage, metrics, totals, status, clocks, lostProvisions },
    /** Begins to watch the database and the clocks: a service does, a command does not. */
    watch(): void {
      isRunning = true;
      clocks.start();
    },
    /**
     * Closes what was opened here, in reverse order: no more work is claimed, and the results of calls that were sent
     * are stored. Throws the first failure (such as that of the vendor's `close`) after everything is closed; further
     * ones are logged.
     */
    close: () =>
      closeAll(
        [
          () => status.close(),
          () => clocks.stop(),
          () => jobs.stop(),
          () => totals.stop(),
          // Also refreshes whose caller no longer waits: a page that was answered without them, or a step that was
          // stopped.
          () => credentials.refresh.settled(),
          () => peopleTokens?.refreshesSettled(),
          () => Promise.all([http.close(), tokenHttp.close(), statusHttp.close()]),
          () => (parts.vendor ?? own)?.close?.(),
          () => lostProvisions.stop(),
          () => outages.close(),
          () => db.close(),
          () => repeats.end(),
        ],
        (error) => log.error({ error }, "Another part could not be closed"),
      ),
  };
}

/** The tokens of people who sign in through the platform's web flow; null if no OAuth client is configured for it. */
function peopleTokensOf(
  { oauthClientId: id, oauthClientSecret: secret, platformAuthUrl: authUrl }: Config,
  { http, ...parts }: Omit<Parameters<typeof createPeopleTokens>[0], "client" | "endpoint"> & { http: Http },
): PeopleTokens | null {
  if (!id || !secret) return null;
  const endpoint = createTokenEndpoint({ http, authUrl, timeoutMs: PERSON_WAITS_MS });
  return createPeopleTokens({ ...parts, endpoint, client: { id, secret } });
}

/** The causes that log lines of many kinds share. */
const causeOf: CauseOf = ({ error, outcome }) => {
  if (isUnreachable(error)) return DATABASE_UNREACHABLE;
  return isPlatformAway(error) || outcome === "not_issued" || outcome === "unknown" ? "platform_fails" : null;
};

/** Work that ended may have made other work due. One look after this delay serves all that ends meanwhile. */
const AFTER_AN_END_MS = 50;
/**
 * The delay before looking for steps that were put off while their tokens were being stored: one look serves a burst.
 */
const AFTER_TOKENS_MS = 5_000;
/** Connections to the platform's API at most; further calls wait for one. */
const SOCKETS_FOR_API = 64;
/** How long a call to the token endpoint may take while a person waits in front of a browser. */
const PERSON_WAITS_MS = 10_000;
