import { setTimeout as wait } from "node:timers/promises";
import { isPassing, statement, waitingForDatabase, type Database } from "../database/database.ts";
import { IN_PIECE, readWhole } from "../database/whole-table.ts";
import { KitError, Misconfigured } from "../errors.ts";
import type { Trial } from "../platform/secret-trial.ts";
import type { ClientSecret } from "../resources/credentials/client-secrets.ts";
import type { Credentials } from "../resources/credentials/credentials.ts";
import type { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";
import { Interrupted } from "./errors.ts";
import type { OnProgress } from "./progress.ts";
import { forgetSecrets, unopenedSecrets } from "./unopened-secrets.ts";

/** A version of the client secret: how many tokens fell due with it, and how many of them are fresh already. */
export interface SecretReport {
  version: number;
  due: number;
  fresh: number;
}

/** The platform does not accept what was set; `version` is current, or null if nothing was changed. */
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
 * The platform did not say whether it accepts a client secret, and the one before is good as far as anybody knows.
 * `because`: what came instead.
 */
export class SecretUntried extends KitError {
  constructor(because: string) {
    super(
      "client_secret_untried",
      `The platform could not be asked whether it accepts this client secret: ${because}. Nothing was changed. Try again when it answers (kit status; is PLATFORM_AUTH_URL right?), or set it untried: kit secret set --no-check`,
    );
  }
}

interface Needs {
  db: Database;
  credentials: Pick<Credentials, "secrets" | "refresh" | "spreadSecret">;
  /** Aborted: the waiting ends; what is left is refreshed by the service, or by the same command again. */
  signal: AbortSignal;
  onProgress?: OnProgress | undefined;
}

interface SetNeeds extends Pick<Needs, "db" | "credentials"> {
  vault: Vault;
  known?: Secret | undefined;
}

const LOOK_EVERY_MS = 250;

// `stale`: pairs that an older secret issued, which fell due with a newer one (secret-spread.ts). `waiting`: those of them
// that a refresh will still be tried for soon; a pair that the platform refused for good is not waited for. No index knows
// them, for each refresh would have to write it; so all rows are looked at, piece by piece.
const countStale = statement(
  "count_stale_tokens",
  `SELECT count(*)::int AS stale, count(*) FILTER (WHERE state = 'active' AND due_at IS NOT NULL)::int AS waiting
   FROM credentials
   WHERE ${IN_PIECE} AND state IN ('active', 'needs_reauth') AND sealed_refresh_token IS NOT NULL
     AND (secret_version IS NULL OR secret_version < $3)`,
);

/**
 * Makes a value the current client secret; tokens that older ones issued are due at once, for the platform killed them
 * with the reset. Set again while it is current, it goes on where it stopped. With `tried`, the platform is asked first.
 * Throws {@link SecretRejected} and {@link SecretUntried}: then the one before stays, which may be working still. One that
 * is not working is no reason to wait for an answer.
 *
 * Versions that do not open end with it. `known` is what CLIENT_SECRET holds: stored first, it is an older one from then
 * on, and no start brings it back.
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
      return { version, due: (await count(db, version)).stale, fresh: 0 };
    }
  }
  const trial = await tried(value);
  if (trial.outcome === "rejected") throw new SecretRejected(null);
  if (trial.outcome === "unanswered" && working) throw new SecretUntried(trial.because);
  if (unopened.length > 0) {
    await forgetSecrets(db, unopened);
    // What was forgotten may have been this one.
    await storeKnown();
  }
  return { ...(await secrets.set(value)), fresh: 0 };
}

/**
 * Waits until every token that an older secret issued is fresh, and helps: it works without a running service too.
 * Throws {@link SecretRejected}, and {@link Interrupted} when `signal` says so.
 */
export async function waitUntilFresh(needs: Needs, { version, due }: SecretReport): Promise<SecretReport> {
  const { credentials, signal, onProgress } = needs;
  const enough = new AbortController();
  const helping = help(needs, AbortSignal.any([signal, enough.signal]));
  try {
    for (;;) {
      const begunAt = performance.now();
      const { stale, waiting } = await look(needs, version);
      const tookMs = performance.now() - begunAt;
      const fresh = Math.max(due - stale, 0);
      onProgress?.(fresh, due);
      if (waiting === 0) return { version, due, fresh };
      const current = await waitingForDatabase(credentials.secrets.current);
      // Ours, or what somebody else set meanwhile.
      if (current.version >= version && current.isRejected) throw new SecretRejected(current.version);
      if (signal.aborted) {
        throw new Interrupted(
          `The client secret is version ${version} now. Stopped with ${fresh} of ${due} tokens fresh; a running service refreshes the rest.`,
        );
      }
      // Of many millions a look takes seconds: as long again is for others.
      await wait(Math.max(LOOK_EVERY_MS, tookMs));
    }
  } finally {
    enough.abort();
    await helping;
  }
}

async function help({ credentials: { refresh, spreadSecret } }: Needs, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    // What hinders us hinders the service as well, and shows in what is counted.
    const taken = await refresh.due(signal).catch(() => 0);
    if (taken > 0) continue;
    // Whoever set the secret may not have lived to make every older token due.
    await spreadSecret(signal).catch(() => 0);
    await wait(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

interface Looked {
  stale: number;
  waiting: number;
}

/** A look that is cut off is begun again, as long as the database can be had at all. */
async function look({ db, credentials: { secrets } }: Needs, version: number): Promise<Looked> {
  for (;;) {
    await waitingForDatabase(secrets.current);
    try {
      return await count(db, version);
    } catch (error) {
      if (!isPassing(error)) throw error;
      await wait(LOOK_EVERY_MS);
    }
  }
}

function count(db: Database, version: number): Promise<Looked> {
  return readWhole(db, async ({ pieces }) => {
    const sum: Looked = { stale: 0, waiting: 0 };
    for await (const [piece] of pieces<Looked>("credentials", countStale, [version])) {
      sum.stale += piece!.stale;
      sum.waiting += piece!.waiting;
    }
    return sum;
  });
}

function noneYet(error: unknown): null {
  if (error instanceof Misconfigured) return null;
  throw error;
}
