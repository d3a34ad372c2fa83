import type { AddonManifest } from "../sandbox/index.ts";

/** How long things are waited for. Milliseconds, but for the token's life. */
export interface Patience {
  /** For what must happen "later": the exchange of a grant, a retry, the end of an asynchronous provision. */
  eventMs: number;
  /** For what must not happen, "later" or at all. */
  quietMs: number;
  /** How long the token endpoint takes where it is slow: hardly less than what is to be waited for it, 20 s. */
  slowMs: number;
  /** The `expires_in` of the tokens whose refresh is watched; seconds. */
  tokenLifeSeconds: number;
  /** For what a service that we started cleans up after its 204, before it is stopped. */
  graceMs: number;
  /** Between one long watch and the next, at the beginning. */
  betweenMs: number;
}

/** Against whom the platform is played, and with what. */
export interface Settings {
  /** The service's address; where it is started by us, the one it is told to listen on. */
  url: string;
  resourcesPath: string;
  ssoPath: string;
  addonId: string;
  addonPassword: string;
  /** Null: whatever the service sends first is taken to be it. */
  clientSecret: string | null;
  /** Null: sign-on is not judged. */
  ssoSalt: string | null;
  /** The plan that is installed. */
  plan: string;
  /** The plan that is changed to; null: no change is judged. */
  otherPlan: string | null;
  /** A plan that is answered 202; null: asynchronous provisioning is not judged. */
  asyncPlan: string | null;
  region: string;
  manifest: AddonManifest | null;
  patience: Patience;
  /** Where the platform listens; 0: any free port. */
  platformPort: number;
  platformHost: string;
  /** Where the service finds it; null: where it listens. */
  platformUrl: string | null;
}

export const usualPatience: Patience = {
  eventMs: 30_000,
  quietMs: 3_000,
  slowMs: 18_000,
  tokenLifeSeconds: 20,
  graceMs: 3_000,
  betweenMs: 50,
};
