import { messageOf } from "../errors.ts";
import type { Secret } from "../secret.ts";
import { clientSecret } from "../setting.ts";
import { UsedWrongly } from "./errors.ts";

/**
 * A real client secret is far shorter. Percent-encoded, at three times the length, it still fits into the form of the
 * operator's pages.
 */
export const MOST_SECRET_BYTES = 4 * 1024;

/**
 * A client secret that an operator typed or piped in, validated like the setting. Throws {@link UsedWrongly} if the
 * text cannot be one.
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
