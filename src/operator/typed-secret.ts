import { messageOf } from "../errors.ts";
import type { Secret } from "../secret.ts";
import { clientSecret } from "../setting-kinds.ts";
import { UsedWrongly } from "./errors.ts";

/** What a portal shows is far shorter. Percent-encoded, thrice as long, it still fits into the form of the pages. */
export const MOST_SECRET_BYTES = 4 * 1024;

/**
 * A client secret that somebody typed or piped in, by the rule of the setting. Throws {@link UsedWrongly} where it can be
 * none.
 */
export function typedClientSecret(text: string): Secret {
  if (Buffer.byteLength(text.trimEnd()) > MOST_SECRET_BYTES)
    throw new UsedWrongly(`That is no client secret: it has more than ${MOST_SECRET_BYTES} bytes.`);
  try {
    return clientSecret(text);
  } catch (error) {
    throw new UsedWrongly(`That is no client secret: it ${messageOf(error)}.`);
  }
}
