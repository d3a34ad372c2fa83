import { isoTime } from "../world/clock.ts";
import { CODE_LIFE_SECONDS } from "../world/codes.ts";
import { uuidOf } from "../world/identity.ts";
import type { AccessTokenRecord, AuthorizationRecord, ConsentRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";

/** "Authorization record" of the platform document. `expires_in` is null where a token does not expire. */
export function authorizationShape(
  world: World,
  authorization: AuthorizationRecord & { consent: ConsentRecord },
) {
  const { id, consent, refreshToken, accessTokens } = authorization;
  const client = consent.clientId === null ? undefined : world.clients.get(consent.clientId);
  const { id: userId, email, name } = world.users.get(consent.userId)!;
  const accessToken = world.accessTokens.get(accessTokens.at(-1) ?? "");
  return {
    id,
    description: consent.description,
    scope: consent.scope,
    access_token: accessToken ? accessTokenShape(world, accessToken) : null,
    refresh_token: { id: uuidOf(`refresh token ${refreshToken}`), token: refreshToken, expires_in: null },
    grant: {
      id: uuidOf(`grant ${consent.grantCode}`),
      code: consent.grantCode,
      expires_in: CODE_LIFE_SECONDS,
    },
    client: client ? { id: client.id, name: client.name, redirect_uri: client.redirectUri } : null,
    user: { id: userId, email, full_name: name },
    created_at: isoTime(consent.createdAt),
    updated_at: isoTime(consent.updatedAt),
  };
}

function accessTokenShape({ clock }: World, { token, expiresAt }: AccessTokenRecord) {
  const secondsLeft = expiresAt === null ? null : Math.max(0, Math.ceil((expiresAt - clock.now()) / 1000));
  return { id: uuidOf(`access token ${token}`), token, expires_in: secondsLeft };
}
