import { setTimeout as sleep } from "node:timers/promises";
import { isTransient, retryWhileDatabaseAway } from "../database/database.ts";
import type { Context } from "../context.ts";
import { KitError, Misconfigured } from "../errors.ts";
import type { Trial } from "../platform/oauth.ts";
import type { ClientSecret } from "../credentials/client-secret.ts";
import { countStale, type StaleTokens } from "../credentials/secret-store.ts";
import { refreshDue, spreadSecret } from "../credentials/refresh.ts";
import type { Secret } from "../secret.ts";
import { Interrupted } from "./errors.ts";
import type { OnProgress } from "./work-through.ts";
import { forgetSecrets, unopenedSecrets } from "./unopened-secrets.ts";

/**
 * A version of the client secret, how many tokens fell due when it was set, and how many of those are refreshed
 * already.
 */
export interface SecretReport {
  version: number;
  due: number;
  fresh: number;
  /** Why it is not known whether the platform accepts the secret; absent if it does. */
  unconfirmed?: string;
}

/** The platform rejects the client secret. `version` is the current one; null if nothing was changed. */
export class SecretRejected extends KitError {
  constructor(version: number | null) {
    const now =
      version === null
        ? "Nothing was changed: the one before is still in use."
        : `It is in use now, as version ${version}: until the right one is set, no token is refreshed.`;
    super("client_secret_rejected", `The platform rejects this client secret. ${now}`);
  }
}

/**
 * The platform did not say whether it accepts a client secret, and as far as is known the current one works. `because`
 * describes what came instead of an answer.
 */
export class SecretUntried extends KitError {
  constructor(because: string) {
    super(
      "client_secret_untried",
      `The platform could not be asked whether it accepts this client secret: ${because}. Nothing was changed. Try again when it answers (kit status; is PLATFORM_AUTH_URL right?), or set it untried: kit secret set --no-check`,
    );
  }
}

interface Needs extends Context {
  /** When aborted, the waiting ends. The service, or the same command again, refreshes the remaining tokens. */
  signal: AbortSignal;
  onProgress?: OnProgress | undefined;
}

interface SetNeeds extends Pick<Context, "db" | "vault" | "credentials"> {
  known?: Secret | undefined;
}

const LOOK_EVERY_MS = 250;
/** If for this long every token that is tried gets a plain 401, the others are left to the running service. */
const PRESUMED_MS = 5_000;
const PLAIN_401 = "it answers 401 for the tokens that are left, and gives no reason";

/**
 * Makes a value the current client secret. Tokens that older secrets issued fall due at once, because resetting the
 * secret on the platform revoked them. If the value is current already and works, no version is added, and the report
 * counts the tokens that are still to be refreshed. `tried` asks the platform first. Throws {@link SecretRejected} if
 * the platform rejects the value. A 401 that gives no reason neither confirms nor rejects it: it is set, and the report
 * says so. Throws {@link SecretUntried} if the platform gives no answer while the current secret
 * works: that one then stays. If none works, the value is set even without an answer.
 *
 * Versions that cannot be opened are deleted. `known` is the value of CLIENT_SECRET: it is stored first, as an older
 * version, so that a later start does not import it over the new one.
 */
export async function setSecret(
  { db, vault, credentials: { secrets }, known }: SetNeeds,
  value: Secret,
  tried: (value: Secret) => Promise<Trial> = async () => ({ outcome: "accepted" }),
): Promise<SecretReport> {
  const storeKnown = async () => void (known && (await secrets.importOnce(known)));
  const unopened = await unopenedSecrets(db, vault);
  let working: ClientSecret | null = null;
  if (unopened.length === 0) {
    await storeKnown();
    const current = await secrets.current().catch(noneYet);
    working = current?.isRejected ? null : current;
    if (working?.value.reveal() === value.reveal()) {
      const { version } = working;
      return { version, due: (await countStale(db, version)).stale, fresh: 0 };
    }
  }
  const trial = await tried(value);
  if (trial.outcome === "rejected") throw new SecretRejected(null);
  if (trial.outcome === "unanswered" && working) throw new SecretUntried(trial.because);
  if (unopened.length > 0) {
    await forgetSecrets(db, unopened);
    // One of the deleted versions may have held this value.
    await storeKnown();
  }
  const set = { ...(await secrets.set(value)), fresh: 0 };
  return trial.outcome === "unclear" ? { ...set, unconfirmed: trial.because } : set;
}

/**
 * Waits until every token that an older secret issued is refreshed, except those that the platform refused for good. It
 * refreshes due tokens itself, so it needs no running service. Where the platform answers all that are left with a 401
 * that gives no reason, waiting would not tell: the report says so. Throws {@link SecretRejected}, and
 * {@link Interrupted} once `signal` is aborted.
 */
export async function waitUntilFresh(needs: Needs, begun: SecretReport): Promise<SecretReport> {
  const { version, due } = begun;
  const { credentials, signal, onProgress } = needs;
  const enough = new AbortController();
  let presumedSinceMs = performance.now();
  let lastFresh = 0;
  const helping = help(needs, AbortSignal.any([signal, enough.signal]));
  try {
    for (;;) {
      const begunAt = performance.now();
      const { stale, waiting } = await look(needs, version);
      const tookMs = performance.now() - begunAt;
      const fresh = Math.max(due - stale, 0);
      onProgress?.(fresh, due);
      if (waiting === 0) return { ...begun, fresh };
      const current = await retryWhileDatabaseAway(credentials.secrets.current);
      // The version that we set, or one that was set by another process meanwhile.
      const isRejected = current.version >= version && current.isRejected;
      if (isRejected && !current.isPresumed) throw new SecretRejected(current.version);
      if (!isRejected || fresh > lastFresh) presumedSinceMs = performance.now();
      if (performance.now() - presumedSinceMs > PRESUMED_MS)
        return { ...begun, fresh, unconfirmed: PLAIN_401 };
      lastFresh = fresh;
      if (signal.aborted) {
        throw new Interrupted(
          `The client secret is version ${version} now. Stopped with ${fresh} of ${due} tokens fresh; a running service refreshes the rest.`,
        );
      }
      // Counting many millions of rows takes seconds: pause as long as it took, to leave the database to others.
      await sleep(Math.max(LOOK_EVERY_MS, tookMs));
    }
  } finally {
    enough.abort();
    await helping;
  }
}

async function help(needs: Needs, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    // An error here is ignored: a running service meets the same one, and the counts show the lack of progress.
    const taken = await refreshDue(needs, signal).catch(() => 0);
    if (taken > 0) continue;
    // The process that set the secret may have died before it made every older token due.
    await spreadSecret(needs, signal).catch(() => 0);
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Counts again after a passing database error. Throws when the database stays away for too long. */
async function look({ db, credentials }: Needs, version: number): Promise<StaleTokens> {
  for (;;) {
    await retryWhileDatabaseAway(credentials.secrets.current);
    try {
      return await countStale(db, version);
    } catch (error) {
      if (!isTransient(error)) throw error;
      await sleep(LOOK_EVERY_MS);
    }
  }
}

function noneYet(error: unknown): null {
  if (error instanceof Misconfigured) return null;
  throw error;
}
