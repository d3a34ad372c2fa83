import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "../context.ts";
import { countStale, sealedSecrets } from "../credentials/store.ts";
import { KitError, messageOf, Misconfigured } from "../errors.ts";
import { withHttp } from "../platform/http.ts";
import { createTokenEndpoint, trySecret, type Trial } from "../platform/oauth.ts";
import type { Secret } from "../secret.ts";
import { secret } from "../setting.ts";
import { clientSecretSealContext, KeyMissing, SealBroken, keyIdOf } from "../vault/vault.ts";
import { checkKeys, countKeyUse, registerKey } from "../vault/store.ts";
import { Interrupted, UsedWrongly } from "./errors.ts";
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

export function triedSecret(authUrl: string, secret: Secret): Promise<Trial> {
  return withHttp((http) =>
    trySecret(createTokenEndpoint({ http, authUrl, timeoutMs: TRIAL_TIMEOUT_MS }), secret),
  );
}

/**
 * Makes a value the current client secret, after a check of the keys and, if `isTried`, of the value at the platform.
 * Tokens that older secrets issued fall due at once, because resetting the secret revoked them. A 401 that gives no reason
 * neither confirms nor rejects the value: it is set, and the report says so. Throws, and changes nothing, if the platform
 * rejects the value, or gives no answer while the current one works. Stored secrets that cannot be decrypted are deleted.
 */
export async function setSecret(ctx: Context, value: Secret, isTried = true): Promise<SecretReport> {
  const { db, config, credentials } = ctx;
  const lost = await lostSecrets(ctx);
  await checkOtherKeys(ctx, lost);
  const current = lost.length > 0 ? null : await credentials.secrets.current().catch(noneYet);
  const isWorking = current !== null && !current.isRejected;
  if (isWorking && current.value.reveal() === value.reveal()) {
    const { version } = current;
    return { version, due: (await countStale(db, version)).stale, fresh: 0 };
  }
  const trial = isTried ? await triedSecret(config.platformAuthUrl, value) : { outcome: "accepted" as const };
  if (trial.outcome === "rejected") throw rejected("Nothing was changed: the one before is still in use.");
  if (trial.outcome === "unanswered" && isWorking)
    throw new KitError(
      "client_secret_untried",
      `The platform could not be asked whether it accepts this client secret: ${trial.because}. Nothing was changed. Try again when it answers (kit status; is PLATFORM_AUTH_URL right?), or set it untried: kit secret set --no-check`,
    );
  if (lost.length > 0)
    await (
      await db.prisma()
    ).clientSecret.deleteMany({ where: { version: { in: lost.map(({ version }) => version) } } });
  // It becomes an older version, so that a later start does not import it over the new one.
  if (config.clientSecret) await credentials.secrets.importOnce(config.clientSecret);
  const set = { ...(await credentials.secrets.set(value)), fresh: 0 };
  return trial.outcome === "unclear" ? { ...set, unconfirmed: trial.because } : set;
}

const rejected = (now: string) =>
  new KitError("client_secret_rejected", `The platform rejects this client secret. ${now}`);

function noneYet(error: unknown): null {
  if (error instanceof Misconfigured) return null;
  throw error;
}

/** The stored versions that cannot be decrypted: damaged, or without their key. */
async function lostSecrets({ db, vault }: Context) {
  return (await sealedSecrets(db)).flatMap(({ version, sealed }) => {
    try {
      vault.open(clientSecretSealContext(version), sealed);
      return [];
    } catch (error) {
      if (!(error instanceof SealBroken || error instanceof KeyMissing)) throw error;
      return [{ version, keyId: keyIdOf(sealed) }];
    }
  });
}

/** The check of the keys at start, except that a key may be missing which sealed nothing but lost secrets. */
async function checkOtherKeys(
  { db, vault }: Context,
  lost: readonly { keyId: string | null }[],
): Promise<void> {
  if (lost.length === 0) return checkKeys(db, vault);
  const missing = (await countKeyUse(db)).filter(({ keyId }) => !vault.keyIds.includes(keyId));
  const isOnlyOfLost = missing.every(
    ({ keyId, rows }) => rows === lost.filter((each) => each.keyId === keyId).length,
  );
  await (isOnlyOfLost ? registerKey(db, vault) : checkKeys(db, vault));
}

/**
 * Waits until every token that an older secret issued is refreshed, except those that the platform refused for good. It
 * refreshes due tokens itself, so it needs no running service. Throws if the platform rejects the secret, and
 * {@link Interrupted} once `signal` is aborted. If it is only presumed to, the others are left to the running service.
 */
export async function waitUntilFresh(
  ctx: Context,
  begun: SecretReport,
  { signal, onProgress }: How,
): Promise<SecretReport> {
  const { version, due } = begun;
  const enough = new AbortController();
  const helping = help(ctx, AbortSignal.any([signal, enough.signal]));
  try {
    for (;;) {
      const { stale, waiting } = await countStale(ctx.db, version);
      const fresh = Math.max(due - stale, 0);
      onProgress?.(fresh, due);
      if (waiting === 0) return { ...begun, fresh };
      // Another process may have set a newer one.
      const current = await ctx.credentials.secrets.current();
      if (current.version >= version && current.isRejected) {
        if (current.isPresumed)
          return { ...begun, fresh, unconfirmed: "it answers 401 for some, and gives no reason" };
        throw rejected(
          `It is in use now, as version ${current.version}: until the right one is set, no token is refreshed.`,
        );
      }
      if (signal.aborted)
        throw new Interrupted(
          `The client secret is version ${version} now. Stopped with ${fresh} of ${due} tokens fresh; a running service refreshes the rest.`,
        );
      await sleep(LOOK_EVERY_MS);
    }
  } finally {
    enough.abort();
    await helping;
  }
}

/** Errors are ignored: a running service meets the same ones, and the counts show the lack of progress. */
async function help(ctx: Context, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if ((await ctx.refreshes.fill(signal).catch(() => 0)) > 0) continue;
    // The process that set the secret may have died before it made every older token due.
    await ctx.credentials.secrets.spread(signal).catch(() => 0);
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

export function secretInWords({ version, due, fresh, unconfirmed }: SecretReport): string {
  return [
    `The client secret is version ${version} now.`,
    unconfirmed &&
      `Whether the platform accepts it is not known: ${unconfirmed}. If tokens stay refused, compare it with the partner portal.`,
    `${fresh} of ${due} tokens refreshed.`,
    fresh < due &&
      "A running service refreshes the others; those that the platform refuses: kit resources list --state needs_reauth",
  ]
    .filter(Boolean)
    .join(" ");
}
