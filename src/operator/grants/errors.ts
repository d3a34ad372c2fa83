import { KitError } from "../../errors.ts";

/** The setting LEGACY_GRANTS is off. The platform was not asked. */
export class LegacyGrantsOff extends KitError {
  constructor() {
    super(
      "legacy_grants_off",
      "Recovering grants is off. Ask the platform to open its oauth-grant endpoint for your add-on (it is closed by default), then set LEGACY_GRANTS=on.",
    );
  }
}

/** The platform has not opened the endpoint for this partner. Nothing was recovered. */
export class GrantsClosed extends KitError {
  constructor(said: string) {
    super(
      "grants_closed",
      `The platform keeps its oauth-grant endpoint closed for your add-on, as it does by default: ask it to open the endpoint, then run this again (${said}).`,
    );
  }
}

/** The platform does not know our Basic credentials at this endpoint. Nothing was recovered. */
export class LegacyCredentialsRejected extends KitError {
  constructor(said: string) {
    super(
      "legacy_credentials_rejected",
      `The platform's oauth-grant endpoint does not accept ADDON_ID with ADDON_PASSWORD: they must be those of the legacy partner API (${said}).`,
    );
  }
}

/** The platform rejects our client secret, so no grant could be exchanged. None was asked for. */
export class SecretIsRejected extends KitError {
  constructor() {
    super(
      "client_secret_rejected",
      "The platform rejects our client secret: a grant fetched now could not be exchanged.",
    );
  }
}
