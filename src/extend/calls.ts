import type { Context } from "../context.ts";
import { KitError, mayQuote, messageOf, Misconfigured, Refusal, storable } from "../errors.ts";
import { findResource } from "../resources/store.ts";
import { redact, type Secret } from "../secret.ts";
import { untilCut } from "../within.ts";
import { secretsOf } from "../work/vendor-steps.ts";
import type { Extensions } from "./contract.ts";

/** What can stand in an address, a command and a label. */
export const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** Throws {@link Misconfigured} for a name that cannot. */
export function checkYourActions({ actions = {}, operatorActions = {} }: Extensions): void {
  for (const name of [...Object.keys(actions), ...Object.keys(operatorActions)])
    if (!NAME.test(name))
      throw new Misconfigured(
        `src/your-service: the action "${name}" needs a name of small letters, digits and hyphens.`,
      );
}

/**
 * Runs an action of the vendor's on one resource, times it as `name`, and answers its sentence. It is given up after
 * `mostSeconds`, or when `cut` is aborted. What it says and throws is without the resource's secrets, fit to be shown.
 */
export async function callAction(
  ctx: Context,
  { name, uuid, mostSeconds, cut }: { name: string; uuid: string; mostSeconds: number; cut?: AbortSignal },
  call: (signal: AbortSignal) => Promise<string>,
): Promise<string> {
  const secrets = await secretsNow(ctx, uuid);
  // The action may have set others.
  const noteNew = async () => secrets.push(...(await secretsNow(ctx, uuid).catch(() => [])));
  const words = `It took longer than ${mostSeconds} s, or the service stops, and was given up. It may have been done all the same.`;
  const givenUp = () => new KitError("given_up", words);
  const startedMs = performance.now();
  const count = (result: string) =>
    ctx.metrics.yourCall({ function: name, result }, (performance.now() - startedMs) / 1_000);
  try {
    const limits = { ms: mostSeconds * 1_000, late: givenUp, cuts: cut ? [cut] : [] };
    const said: unknown = await untilCut(limits, call);
    count("done");
    const sentence = typeof said === "string" && said.trim() !== "" ? said : "Done.";
    await noteNew();
    return fit(ctx, sentence, secrets);
  } catch (thrown) {
    const error = cut?.aborted ? givenUp() : thrown;
    const isCut = error instanceof KitError && error.id === "given_up";
    count(isCut ? "cut_off" : error instanceof Refusal ? "refused" : "failed");
    await noteNew();
    if (!(error instanceof Refusal)) throw mayQuote(error, secrets);
    const { id, status } = error;
    throw new Refusal(fit(ctx, messageOf(error), secrets), { id, status });
  }
}

async function secretsNow({ db, vault }: Context, uuid: string): Promise<Secret[]> {
  const row = await findResource(db, uuid);
  return row ? secretsOf(vault, row) : [];
}

/** A sentence of the vendor's, fit to be stored and shown. */
function fit({ scrubber }: Context, sentence: string, secrets: readonly Secret[]): string {
  const values = secrets.map((each) => each.reveal());
  return storable(scrubber.scrub(redact(sentence.replaceAll("\0", ""), values)));
}
