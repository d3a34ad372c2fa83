/** What the platform remembers. Plain data, times in milliseconds, so that a state file can hold it. */

export type AddonState = "provisioning" | "provisioned" | "deprovisioning" | "deprovisioned";

export interface AddonRecord {
  id: string;
  name: string;
  state: AddonState;
  appId: string;
  plan: string;
  /** The plan of the provision request, unaffected by later changes. Absent in old state files. */
  requestedPlan?: string;
  region: string;
  options: Record<string, unknown>;
  /** Set by the partner's answers and by PATCH; in the order in which the names first appeared. */
  config: Record<string, string>;
  providerId: string | null;
  provisionMessage: string | null;
  /**
   * When the provision request was first sent, or accepted after it had failed: an asynchronous provision is given up
   * 12 hours later.
   */
  requestedAt: number;
  /**
   * The service answered the provision with success; absent for an add-on installed before the service, until it
   * answers.
   */
  wasTakenUp?: true;
  /** The service refused the provision for good; no answer and a 5xx do not count. */
  isRefused?: true;
  /**
   * The service has confirmed that the resource is gone (2xx or 410 to a DELETE): from then on, 410 is the correct
   * answer.
   */
  isEndConfirmed?: true;
  /**
   * A DELETE overtook the provision and was answered 404: if the service then accepts the provision, nobody will end
   * it.
   */
  isEndForeseen?: true;
  /** The platform gave up the provision, because it was not finished in time. */
  isGivenUp?: true;
  /** The platform gave up the provision, but has not told the service yet. */
  isUntold?: true;
  /** The platform lost it, and the service was not told: no token finds it any more. */
  isVanished?: true;
  /** When a resource that had existed was deprovisioned; null for a failed provision. */
  deprovisionedAt: number | null;
  createdAt: number;
  updatedAt: number;
}

export interface AttachmentRecord {
  id: string;
  name: string;
  addonId: string;
  appId: string;
  createdAt: number;
  updatedAt: number;
}

export interface AppRecord {
  id: string;
  /** The config vars its users set; add-ons add others. */
  configVars?: Record<string, string>;
  /** The result of its manifest; absent without a manifest. */
  setup?: AppSetupRecord;
  /** The last of its releases, oldest first; absent while there is only the first one. */
  releases?: ReleaseRecord[];
  /** When the app was destroyed. Its name is free then; the record is kept for the add-ons that refer to it. */
  destroyedAt?: number;
  name: string;
  ownerId: string;
  teamId: string | null;
  generation: string;
  region: string;
  createdAt: number;
  updatedAt: number;
}

/** An app gets a release with each change of its config vars and its add-ons. */
export interface ReleaseRecord {
  version: number;
  description: string;
  at: number;
}

export interface UserRecord {
  id: string;
  email: string;
  name: string;
  createdAt: number;
  lastSignInAt: number | null;
}

/**
 * An OAuth client of the web flow. The partner's client for add-on grants is not one of these: its secret is a setting.
 */
export interface ClientRecord {
  id: string;
  name: string;
  redirectUri: string;
  secret: string;
  ownerId: string;
  /** True for the partner's own client, with which people sign in at its service. A reset keeps it. */
  isPartners?: boolean;
  createdAt: number;
  updatedAt: number;
}

/** A code of the web flow, issued by the authorize page for the token endpoint. */
export interface CodeRecord {
  code: string;
  clientId: string;
  userId: string;
  scope: string[];
  /** Null: the authorize request named none. */
  redirectUri: string | null;
  /** What the verifier must fit (RFC 7636). Codes of an old state file have none. */
  challenge?: Challenge | null;
  expiresAt: number;
  /** The access token it was exchanged for. */
  accessToken: string | null;
}

export interface Challenge {
  value: string;
  method: "S256" | "plain";
}

/** A person signed in at the authorize page. */
export interface SessionRecord {
  id: string;
  userId: string;
}

export interface TeamRecord {
  id: string;
  name: string;
  createdAt: number;
}

export interface MemberRecord {
  id: string;
  teamId: string;
  userId: string;
  role: string;
  createdAt: number;
}

export interface CollaboratorRecord {
  id: string;
  appId: string;
  userId: string;
  role: string;
  createdAt: number;
}

export interface DomainRecord {
  id: string;
  appId: string;
  /** Null: the platform's own host name, which follows the app's name. */
  hostname: string | null;
  kind: "platform" | "custom";
  createdAt: number;
}

export interface LogDrainRecord {
  id: string;
  url: string;
  token: string;
  addonId: string | null;
  appId: string;
  createdAt: number;
  updatedAt: number;
}

export interface PipelineRecord {
  id: string;
  name: string;
  owner: { id: string; type: "user" | "team" };
  generation: string;
  createdAt: number;
}

export interface CouplingRecord {
  id: string;
  appId: string;
  pipelineId: string;
  stage: "test" | "review" | "development" | "staging" | "production";
  createdAt: number;
}

/** "States and transitions" of the platform document; `expired` is not stored, as it follows from the time. */
export interface GrantRecord {
  code: string;
  addonId: string;
  state: "issued" | "exchangeable" | "exchanged" | "invalid";
  /** Why the grant is invalid, as a sentence. */
  reason: string | null;
  issuedAt: number;
  expiresAt: number;
  exchangeableAt: number | null;
  /** The access token it was exchanged for. */
  accessToken: string | null;
}

/** One token pair and its rate-limit bucket; a resource has one valid pair, a user any number. */
export interface AuthorizationRecord {
  id: string;
  /** Null when a user gave the authorization. */
  addonId: string | null;
  /** The user's consent; absent for a resource's pair. */
  consent?: ConsentRecord;
  refreshToken: string;
  /** Every access token that is still stored, the current one last. */
  accessTokens: string[];
  /** Why it can no longer be refreshed, as a sentence. */
  endedBecause: string | null;
  bucket: { level: number; size: number; at: number };
}

export interface ConsentRecord {
  userId: string;
  /** Null: the user made it for themselves. */
  clientId: string | null;
  /**
   * The client that holds the tokens, even if it made the authorization itself with a token it was given; null: the
   * user alone.
   */
  thirdParty: string | null;
  scope: string[];
  description: string | null;
  grantCode: string;
  sessionNonce: string;
  /** Set with a direct authorization: how many seconds each of its access tokens lives. Null: they do not expire. */
  lifeSeconds?: number | null;
  createdAt: number;
  updatedAt: number;
}

export interface AccessTokenRecord {
  token: string;
  authorizationId: string;
  issuedAt: number;
  /** Null: it does not expire. */
  expiresAt: number | null;
  /** Why it ended before it expired, as a sentence. */
  endedBecause: string | null;
}

/**
 * An affected system with the feed's names: `Apps`, `Data`, `Tools`; status green, yellow, red, or blue for
 * maintenance.
 */
export interface AffectedSystem {
  name: string;
  status: string;
  services: string[];
}

/** An update is never changed after it is posted: each says what applies from then on. */
export interface IncidentUpdateRecord {
  id: number;
  type: string;
  title: string;
  contents: string;
  /** The state of the incident from this update on. */
  state: string;
  /** Empty: unchanged. */
  systems: AffectedSystem[];
  createdAt: number;
}

export interface IncidentRecord {
  id: number;
  kind: "incident" | "maintenance";
  title: string;
  tags: string[];
  review: boolean;
  /** Before `createdAt` for an incident that is reported later, after it for a planned maintenance. */
  startsAt: number;
  createdAt: number;
  /** Oldest first; never empty. */
  updates: IncidentUpdateRecord[];
}

export interface ScriptRecord {
  command: string;
  size: string;
}

/** An add-on of another service than the partner's, as a manifest asked for it. */
export interface ForeignAddonRecord {
  service: string;
  /** Null: that service's default plan. */
  plan: string | null;
  as: string;
  options: Record<string, unknown>;
  configVars: string[];
}

/** The steps taken for an app, in order. */
export interface AppStepRecord {
  step: "addon" | "deploy" | "postdeploy" | "pr-predestroy" | "destroy";
  at: number;
  /** Details of the add-on or the script. */
  detail: Record<string, string>;
}

/** The result of an "App manifest" of the platform document, which is read once, when the app is created. */
export interface AppSetupRecord {
  /** `waiting`: for add-ons that are provisioned asynchronously. `failed`: the provision of one of them failed. */
  state: "creating" | "waiting" | "deployed" | "failed";
  environment: "test" | "review" | null;
  about: Record<string, string | string[] | undefined>;
  stack: string | null;
  successUrl: string | null;
  formation: { type: string; quantity: number; size: string }[];
  buildpacks: string[];
  scripts: { postdeploy?: ScriptRecord; "pr-predestroy"?: ScriptRecord };
  foreignAddons: ForeignAddonRecord[];
  warnings: string[];
  steps: AppStepRecord[];
}
