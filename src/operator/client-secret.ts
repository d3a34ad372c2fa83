import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "../context.ts";
import { countStale } from "../credentials/client-secret-store.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import { KitError, messageOf } from "../errors.ts";
import { withHttp } from "../platform/http.ts";
import { tokenEndpointAt, type Trial, trySecret } from "../platform/oauth.ts";
import type { Secret } from "../secret.ts";
import { secret } from "../setting.ts";
import { checkKeys } from "../vault/store.ts";
import { clientSecretSealContext, keyIdOf, type Vault } from "../vault/vault.ts";
import { UsedWrongly } from "./errors.ts";
import { deleteSecrets, storedSecrets } from "./store.ts";
import { counted } from "./wording.ts";
import type { How } from "./work-through.ts";

interface SecretReport {
  version: number;
  /** How many tokens fell due when it was set, and how many of those are refreshed. */
  due: number;
  fresh: number;
  /** Why it is not known whether the platform accepts the secret; absent if it does. */
  unconfirmed?: string;
}

/** A real one is far shorter; percent-encoded, this still fits into a form (pages/forms.ts). */
const MOST_SECRET_BYTES = 4 * 1024;
const TRIAL_TIMEOUT_MS = 5_000;
const LOOK_EVERY_MS = 250;

/** Validates like the setting. Throws {@link UsedWrongly}. */
export function typedClientSecret(text: string): Secret {
  if (Buffer.byteLength(text.trimEnd()) > MOST_SECRET_BYTES)
    throw new UsedWrongly(`That is no client secret: it has more than ${MOST_SECRET_BYTES} bytes.`);
  try {
    return secret(text);
  } catch (error) {
    throw new UsedWrongly(`That is no client secret: it ${messageOf(error)}.`);
  }
}

export function triedSecret({ config, clocks }: Context, secret: Secret): Promise<Trial> {
  const on = { authUrl: config.platformAuthUrl, timeoutMs: TRIAL_TIMEOUT_MS };
  return withHttp((http) => trySecret(tokenEndpointAt({ http: clocks.heard(http), ...on }), secret));
}

/**
 * Makes a value the current client secret. Tokens that older secrets issued fall due at once, because resetting the secret
 * revoked them. A 401 that gives no reason neither confirms nor rejects the value: it is set, and the report says so.
 * Throws, and changes nothing, if the platform rejects the value, or gives no answer while the current one works. Stored
 * versions that cannot be decrypted are deleted, and no key is asked for that sealed nothing else.
 */
export async function setSecret(ctx: Context, value: Secret): Promise<SecretReport> {
  const { db, vault, config } = ctx;
  const { secrets } = ctx.credentials;
  const stored = await storedSecrets(db);
  const lost = stored.filter((each) => !opens(vault, each));
  const current = lost.at(-1) === stored.at(-1) ? null : await secrets.current();
  const isWorking = current !== null && !current.isRejected;
  // What is cached may be some seconds old.
  const isNewest = current?.version === stored.at(-1)?.version;
  const isSame = isWorking && isNewest && current.value.reveal() === value.reveal();
  const trial: Trial = isSame ? { outcome: "accepted" } : await triedSecret(ctx, value);
  if (trial.outcome === "rejected") throw rejected("Nothing was changed: the one before is still in use.");
  if (trial.outcome === "unanswered" && isWorking)
    throw new KitError(
      "client_secret_untried",
      `The platform could not be asked whether it accepts this client secret: ${trial.because}. Nothing was changed. Try again when it answers (kit status; is PLATFORM_AUTH_URL right?).`,
    );
  const keysOfLost = lost.map(({ sealedSecret }) => keyIdOf(sealedSecret));
  await checkKeys(db, vault, keysOfLost);
  await deleteSecrets(
    db,
    lost.map(({ version }) => version),
  );
  if (isSame)
    return { version: current.version, due: (await countStale(db, current.version)).stale, fresh: 0 };
  // It becomes an older version, so that a later start does not import it over the new one.
  if (config.clientSecret) await secrets.importOnce(config.clientSecret);
  const set = { ...(await secrets.set(value)), fresh: 0 };
  return "because" in trial ? { ...set, unconfirmed: trial.because } : set;
}

type StoredSecret = Awaited<ReturnType<typeof storedSecrets>>[number];

function opens(vault: Vault, { version, sealedSecret }: StoredSecret): boolean {
  try {
    vault.open(clientSecretSealContext(version), sealedSecret);
    return true;
  } catch {
    return false;
  }
}

const rejected = (now: string, how = "rejects this client secret") =>
  new KitError("client_secret_rejected", `The platform ${how}. ${now}`);

/**
 * Waits until every token that an older secret issued is refreshed, except those that the platform refuses. It refreshes
 * due tokens itself, so it needs no running service. Throws if the platform rejects the secret; if that is only presumed,
 * and may be the fault of dead tokens, once no token was refreshed for `pace.presumedMs`.
 */
export async function waitUntilFresh(
  ctx: Context,
  begun: SecretReport,
  { signal, onProgress }: How,
): Promise<SecretReport> {
  const { version, due } = begun;
  const ending = new AbortController();
  const until = AbortSignal.any([signal, ending.signal]);
  let helping: Promise<void> | null = null;
  let presumedAtMs = Infinity;
  let freshBefore = 0;
  try {
    for (;;) {
      helping ??= help(ctx, until).finally(() => (helping = null));
      const { stale, waiting } = await countStale(ctx.db, version);
      const fresh = Math.max(due - stale, 0);
      onProgress?.(fresh, due);
      if (signal.aborted)
        throw new KitError(
          "interrupted",
          `The client secret is version ${version} now. A running service refreshes the other ${counted(due - fresh, "token")}.`,
        );
      // Another process may have set a newer one.
      const current = await retryWhileUnreachable(ctx.credentials.secrets.current);
      const isRejected = current.version >= version && current.isRejected;
      const inUse = `It is in use now, as version ${current.version}: until the right one is set, no token is refreshed.`;
      if (isRejected && !current.isPresumed) throw rejected(inUse);
      // Dead tokens alone may be refused; what was refreshed shows that it works.
      presumedAtMs =
        isRejected && fresh === freshBefore ? Math.min(presumedAtMs, performance.now()) : Infinity;
      freshBefore = fresh;
      const isOver = waiting === 0 || performance.now() - presumedAtMs > ctx.pace.presumedMs;
      if (isOver && fresh === 0 && due > 0 && begun.unconfirmed)
        throw rejected(inUse, "refreshed no token with this client secret: it is presumed wrong");
      if (isOver) return { ...begun, fresh };
      await sleep(LOOK_EVERY_MS);
    }
  } finally {
    ending.abort();
    await helping;
  }
}

/** Errors are ignored: a running service meets the same ones, and the counts show the lack of progress. */
async function help({ refreshes, credentials }: Context, signal: AbortSignal): Promise<void> {
  // The process that set the secret may have died before it made every older token due.
  await credentials.secrets.spread(signal).catch(() => 0);
  await refreshes.fill(signal).catch(() => 0);
}

export function secretInWords({ version, due, fresh, unconfirmed }: SecretReport): string {
  return [
    `The client secret is version ${version} now.`,
    unconfirmed &&
      `Whether the platform accepts it is not known: ${unconfirmed}. If tokens stay refused, compare it with the partner portal.`,
    `${fresh} of ${counted(due, "token")} refreshed.`,
    fresh < due &&
      "A running service refreshes the others; those that the platform refuses for a day: kit resources list --state needs_reauth",
  ]
    .filter(Boolean)
    .join(" ");
}
