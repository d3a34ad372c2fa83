import type { Config } from "./config.ts";
import type { Context, OpenContext, Parts } from "./context.ts";
import { createCredentials } from "./credentials/credentials.ts";
import { createExchanges, createRefreshes, refreshesSettled } from "./credentials/pools.ts";
import { tokensOf } from "./credentials/token-source.ts";
import { openDatabase } from "./database/database.ts";
import { createOutageWatch } from "./database/retry.ts";
import { messageOf } from "./errors.ts";
import { checkExtensions } from "./extend/check.ts";
import { kitFor } from "./extend/kit.ts";
import { ROTATION_STEPS } from "./extend/rotation.ts";
import { createJobs, wakeBy } from "./jobs/run.ts";
import { timetable } from "./jobs/timetable.ts";
import { noticingHttp } from "./ledgers/marks.ts";
import { createLog, createSample } from "./logging/log.ts";
import { timedHttp } from "./metrics/measured.ts";
import { createMetrics } from "./metrics/metrics.ts";
import { noteBeat } from "./metrics/store.ts";
import { createTotals } from "./metrics/totals.ts";
import { checkOffer } from "./offer.ts";
import { PACE } from "./pace.ts";
import { createBrand } from "./people/brand.ts";
import type { CustomerPage } from "./people/contract.ts";
import { createEntries } from "./people/entries.ts";
import { createPlatformFor, systemClock } from "./platform/api.ts";
import { createHttp } from "./platform/http.ts";
import { tokenEndpointAt } from "./platform/oauth.ts";
import { currentStatus } from "./platform/status.ts";
import { createClocks } from "./processes/clocks.ts";
import { createPresence } from "./processes/presence.ts";
import { createLostSales } from "./resources/lost-sales.ts";
import { resourceRunner } from "./resources/steps.ts";
import { createOwnScrubber } from "./secret.ts";
import { NO_TRACE } from "./trace/trace.ts";
import { createVault } from "./vault/vault.ts";
import { closeAll, sharedFor } from "./within.ts";
import { createYourService } from "./your-service/index.ts";
import { offer as yourOffer } from "./your-service/plans.ts";

type KitOfYours = Parameters<typeof createYourService>[1];

/** The context while it is filled. A part may use another one that is made later, but not before both are made. */
type Growing = { -readonly [Part in keyof Context]: Context[Part] };

/**
 * Makes the parts of every process. Nothing runs yet. The web process adds its routes (process/run-web.ts, website.ts),
 * which no command and no worker loads. Throws `Misconfigured` if the offer contradicts itself, or a file that
 * `DATABASE_CA` names cannot be read.
 */
export async function openContext(config: Config, parts: Partial<Parts> = {}): Promise<OpenContext> {
  const ctx = {
    config,
    pace: { ...PACE, ...parts.pace },
    offer: parts.offer ?? yourOffer,
    hasCrashed: false,
  } as Growing;
  checkOffer(ctx.offer);
  const closers: (() => unknown)[] = [];
  ctx.trace = config.otlpEndpoint ? (await import("./trace/open-telemetry.ts")).openTelemetry(ctx) : NO_TRACE;
  ctx.wake = wakeBy((job, inMs) => ctx.trace.outside(() => ctx.jobs.wake(job, inMs)), ctx.pace.soonMs);

  closers.push(() => ctx.trace.close());
  ctx.metrics = createMetrics();
  ctx.scrubber = createOwnScrubber(config);
  ctx.log = createLog(
    config.logLevel,
    ctx.scrubber,
    parts.logTo,
    (alarm) => ctx.metrics.alarm(alarm),
    createSample(ctx.pace.logAgainMs),
    ctx.trace.ids,
  );
  ctx.vault = await createVault(config);

  const outages = createOutageWatch({ ping: () => ctx.db.ping(), log: ctx.log });
  let isWatching = false;
  const opened = openDatabase({
    url: config.databaseUrl.reveal(),
    poolSize: config.databasePool,
    ca: config.databaseCa,
    isPatient: parts.isPatient ?? false,
    onError: (error) => isWatching && outages.noticed(error),
    onFailed: (error, failed) => ctx.presence.failed(error, failed),
  });
  ctx.db = parts.wrapDatabase?.(opened) ?? opened;
  ctx.clocks = createClocks();
  ctx.presence = createPresence({ ...ctx, scrub: ctx.scrubber.scrub });
  const totals = createTotals(ctx);
  ctx.lostSales = createLostSales(ctx);
  ctx.entries = createEntries(ctx);
  closers.push(
    () => ctx.db.close(),
    () => outages.close(),
    () => ctx.presence.end(ctx.hasCrashed ? "an error was not caught" : null),
    () => ctx.lostSales.stop(),
    () => ctx.entries.settled(),
  );

  const kit = kitFor(ctx);
  const given = typeof parts.vendor === "function" ? parts.vendor(kit) : parts.vendor;
  // The kit knows the names of the offer as texts, your service as types.
  const own = given && parts.customerPage ? null : createYourService(config.yours, kit as KitOfYours);
  ctx.vendor = given ?? own!;
  ctx.customerPage = parts.customerPage ?? (own!.customerPage as CustomerPage);
  closers.push(() => ctx.vendor.close?.());
  checkExtensions(ctx.vendor);
  ctx.brand = createBrand(config.addonId, ctx.vendor.brand);
  ctx.yourJobs = (ctx.vendor.jobs ?? []).map(({ name }) => name);
  for (const [name, metric] of Object.entries(ctx.vendor.metrics ?? {})) ctx.metrics.declare(name, metric);

  const platformHttp = (maxSockets: number) =>
    ctx.clocks.heard(ctx.trace.calls(timedHttp(createHttp({ maxSockets }), ctx.metrics)));
  const http = platformHttp(SOCKETS_FOR_API);
  // No limit on connections: time spent waiting for one would be missing from the time in which the tokens must arrive.
  // `TOKEN_CONCURRENCY` limits the calls before they come here.
  const tokenHttp = platformHttp(Infinity);
  closers.push(() => Promise.all([http, tokenHttp].map((each) => each.close())));
  const feed = { http, statusUrl: config.platformStatusUrl };
  ctx.status = sharedFor(STATUS_FEED_EVERY_MS, () =>
    currentStatus(feed).then(({ value }) => value, messageOf),
  );
  ctx.platformCalls = { http, apiUrl: config.platformApiUrl, mediaType: config.platformMediaType };

  const endpoint = tokenEndpointAt({ http: tokenHttp, authUrl: config.platformAuthUrl });
  ctx.credentials = createCredentials(ctx, parts.wrapTokenEndpoint?.(endpoint) ?? endpoint);
  ctx.exchanges = createExchanges(ctx);
  ctx.refreshes = createRefreshes(ctx);
  const noticing = { ...ctx.platformCalls, http: noticingHttp(ctx, http) };
  const clock = systemClock(ctx.pace.callPauses);
  ctx.platformFor = createPlatformFor({ ...noticing, tokensOf: (uuid) => tokensOf(ctx, uuid) }, clock);

  ctx.work = resourceRunner(ctx, ROTATION_STEPS);
  ctx.jobs = createJobs({
    jobs: timetable(ctx),
    beat: (name) => noteBeat(ctx.db, name),
    log: ctx.log,
    soonMs: ctx.pace.soonMs,
  });
  closers.push(
    () => totals.stop(),
    // Also refreshes whose caller no longer waits: a page that was answered without them, or a step that was stopped.
    () => refreshesSettled(ctx),
    () => ctx.jobs.stop(),
  );

  return Object.assign(ctx, {
    totals,
    watch(): void {
      isWatching = true;
    },
    close: () =>
      closeAll(closers.reverse(), (error) => ctx.log.error({ error }, "Another part could not be closed")),
  });
}

/** The platform refreshes its feed at this interval (platform document, "Limits"). */
const STATUS_FEED_EVERY_MS = 30_000;
/** The most connections to the platform's API. Further calls wait for a free one. */
const SOCKETS_FOR_API = 64;
