import type { AddonManifest } from "../sandbox/index.ts";
import { ANSWERED_WITHIN_MS } from "./stage/wire.ts";

/** How long things are waited for: in milliseconds, except for the token's lifetime. */
export interface Patience {
  /** For what must happen later: the exchange of a grant, a retry, the end of an asynchronous provision. */
  eventMs: number;
  /** For what must not happen. */
  quietMs: number;
  /** How long a slow token endpoint takes: a little less than the 20 s that a service must wait for it. */
  slowMs: number;
  /** The `expires_in` of the tokens whose refresh is watched, in seconds. */
  tokenLifeSeconds: number;
  /** For the clean-up after a 204, before a service that was started here is stopped. */
  graceMs: number;
  /** Between the starts of two patient rules. */
  betweenMs: number;
  /** For an answer of the service: as long as the platform waits. */
  answerMs: number;
  /** For the answer to a provision, as the platform's document asks (PROV-08); `--patience` does not change it. */
  promisedMs: number;
}

/** The service that the checker plays the platform to, and the values it uses. */
export interface Settings {
  /** The service's address; if the checker starts the service, the address it is told to listen on. */
  url: string;
  resourcesPath: string;
  ssoPath: string;
  addonId: string;
  addonPassword: string;
  /** Null: the first secret that the service sends is taken for it. */
  clientSecret: string | null;
  /** Null: sign-on is not judged. */
  ssoSalt: string | null;
  /** The plan that is installed. */
  plan: string;
  /** The plan to change to; null: plan changes are not judged. */
  otherPlan: string | null;
  /** A plan that is answered 202; null: asynchronous provisioning is not judged. */
  asyncPlan: string | null;
  region: string;
  manifest: AddonManifest | null;
  patience: Patience;
  /** The port on which the platform listens; 0: any free port. */
  platformPort: number;
  platformHost: string;
  /** The address at which the service reaches the platform; null: the one where it listens. */
  platformUrl: string | null;
}

export const usualPatience: Patience = {
  eventMs: 30_000,
  quietMs: 3_000,
  slowMs: 18_000,
  tokenLifeSeconds: 20,
  graceMs: 3_000,
  betweenMs: 50,
  answerMs: ANSWERED_WITHIN_MS,
  promisedMs: 3_000,
};
