import type { Context } from "../context.ts";
import { KitError, mayQuote, messageOf, Refusal, storable } from "../errors.ts";
import { isAlive } from "../resources/states.ts";
import { findResource } from "../resources/store.ts";
import { secretsOf, timed } from "../resources/vendor-steps.ts";
import { redact, type Secret } from "../secret.ts";
import { untilCut } from "../within.ts";
import { HOLD_EVERY_MS } from "../work/lease.ts";

/**
 * Runs a vendor's action on one resource and returns its sentence. `name`: the label of the action in the metrics. The
 * action is given up after `mostSeconds`, or when `cut` is aborted. The resource's secrets are removed from the sentence
 * and from errors, so both can be shown.
 */
export async function callAction(
  ctx: Context,
  { name, uuid, mostSeconds, cut }: { name: string; uuid: string; mostSeconds: number; cut?: AbortSignal },
  call: (signal: AbortSignal) => Promise<string>,
): Promise<string> {
  const words = `The action was given up because it took longer than ${mostSeconds} s or the service stops. It may have taken effect.`;
  const givenUp = new KitError("given_up", words);
  // Aborts the action when the resource ends; the clean-up waits for this.
  const hold = async () => isAlive((await findResource(ctx.db, uuid))!.state);
  const lease = { hold, everyMs: HOLD_EVERY_MS };
  const limits = { ms: mostSeconds * 1_000, late: () => givenUp, cuts: cut ? [cut] : [], lease };
  const isCut = (error: unknown) => error === givenUp || cut?.aborted === true;
  const secrets = await secretsNow(ctx, uuid);
  const end = await timed(ctx, name, isCut, () => untilCut(limits, call)).then(
    (said: unknown) => ({ said }),
    (thrown: unknown) => ({ thrown: isCut(thrown) ? givenUp : thrown }),
  );
  // Read again, because the action may have set config vars.
  secrets.push(...(await secretsNow(ctx, uuid).catch(() => [])));
  const values = secrets.map((each) => each.reveal());
  const fit = (words: string) => storable(ctx.scrubber.scrub(redact(words.replaceAll("\0", ""), values)));
  if ("said" in end) return fit(typeof end.said === "string" && end.said.trim() ? end.said : "Done.");
  if (!(end.thrown instanceof Refusal)) throw mayQuote(end.thrown, secrets);
  const { id, status } = end.thrown;
  throw new Refusal(fit(messageOf(end.thrown)), { id, status });
}

async function secretsNow(ctx: Context, uuid: string): Promise<Secret[]> {
  const row = await findResource(ctx.db, uuid);
  return row ? secretsOf(ctx, row) : [];
}
