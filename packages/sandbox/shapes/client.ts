import { isoTime } from "../world/clock.ts";
import type { ClientRecord } from "../world/records.ts";

/** An OAuth client as the API shows it (assumed, section 7), without its secret. */
export function clientShape({ id, name, redirectUri, createdAt, updatedAt }: ClientRecord) {
  return {
    id,
    name,
    redirect_uri: redirectUri,
    ignores_delinquent: null,
    created_at: isoTime(createdAt),
    updated_at: isoTime(updatedAt),
  };
}

/** The same with the secret, which is shown only when it is new. */
export function newClientShape(client: ClientRecord) {
  return { ...clientShape(client), secret: client.secret };
}
