import { addonShape } from "../shapes/addon.ts";
import { appShape } from "../shapes/app.ts";
import { giveUpIfOverdue } from "../world/addon-life.ts";
import { configVarsOf } from "../world/attachments.ts";
import { isoTime } from "../world/clock.ts";
import { grantStateOf, latestGrant } from "../world/grants.ts";
import type { AccessTokenRecord, AddonRecord, AppRecord } from "../world/records.ts";
import { latestAuthorization, whyDead } from "../world/tokens.ts";
import type { World } from "../world/world.ts";

/** Everything the platform stores, without any secret. */
export function stateOf(world: World) {
  return {
    now: new Date(world.clock.now()).toISOString(),
    apps: world.apps
      .all()
      .filter(({ destroyedAt }) => destroyedAt === undefined)
      .map((app) => appState(world, app)),
    addons: world.addons.all().map((addon) => addonState(world, giveUpIfOverdue(world, addon))),
    /** Every user that was ever named: owners and collaborators of apps, and those who signed in. */
    users: world.users.all().map(({ id, email, name }) => ({ id, email, name })),
    clients: [
      { id: world.partnerClientId, name: world.settings.addonId, redirect_uri: null },
      ...world.clients.all().map(({ id, name, redirectUri }) => ({ id, name, redirect_uri: redirectUri })),
    ],
    settings: shownSettings(world),
  };
}

export type State = ReturnType<typeof stateOf>;

/** One add-on with its newest grant and all access tokens that are still stored, the newest last. */
export function addonState(world: World, addon: AddonRecord) {
  const grant = latestGrant(world, addon.id);
  const authorization = latestAuthorization(world, addon.id);
  const tokens = world.authorizations
    .of("addon", addon.id)
    .flatMap(({ accessTokens }) => accessTokens.map((token) => world.accessTokens.get(token)!));
  return {
    ...addonShape(world, addon),
    region: addon.region,
    /** Whether the service ever answered with success. */
    was_answered: addon.providerId !== null,
    grant: grant ? { state: grantStateOf(world, grant), expires_at: isoTime(grant.expiresAt) } : null,
    tokens: tokens.map((token) => ({
      state: tokenStateOf(world, token),
      // A partner's tokens always expire.
      expires_at: isoTime(token.expiresAt!),
    })),
    refresh_token: authorization
      ? { state: authorization.endedBecause === null ? "valid" : "revoked" }
      : null,
  };
}

export type AddonState = ReturnType<typeof addonState>;

function appState(world: World, app: AppRecord) {
  return { ...appShape(world, app), config_vars: Object.keys(configVarsOf(world, app)) };
}

function tokenStateOf(world: World, token: AccessTokenRecord): "valid" | "expired" | "revoked" {
  if (token.endedBecause !== null) return "revoked";
  return whyDead(world, token) === null ? "valid" : "expired";
}

/** The settings without the secrets. They are left out, not masked, because a mask could be written back by mistake. */
export function shownSettings({ settings }: World) {
  const {
    addonPassword: _password,
    clientSecret: _secret,
    ssoSalt: _salt,
    token: _token,
    ...shown
  } = settings;
  return shown;
}
