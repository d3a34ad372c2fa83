/** What the platform remembers. Plain data, times in milliseconds, so that a state file can hold it. */

export type AddonState = "provisioning" | "provisioned" | "deprovisioning" | "deprovisioned";

export interface AddonRecord {
  id: string;
  name: string;
  state: AddonState;
  appId: string;
  plan: string;
  /** As the provision request has it, whatever was changed since. A state file from before may lack it. */
  requestedPlan?: string;
  region: string;
  options: Record<string, unknown>;
  /** Set by the partner's answers and by PATCH; order of first appearance. */
  config: Record<string, string>;
  providerId: string | null;
  provisionMessage: string | null;
  /**
   * When the provision request was first sent, or taken up after it had failed: an asynchronous one is given up 12
   * hours later.
   */
  requestedAt: number;
  /** A success of the service was taken up; not so what was installed before the service, until it answers. */
  wasTakenUp?: true;
  /** The service has said no to it, for good; no answer, or one that it cannot now (5xx), is none. */
  isRefused?: true;
  /** The service has said that it is gone (2xx or 410 to a DELETE): whatever comes after, 410 is due. */
  isEndConfirmed?: true;
  /** A DELETE has overtaken its provision and was answered 404: what is accepted after it would be left with nobody. */
  isEndForeseen?: true;
  /** The platform has given it up, and its service does not know yet. */
  isUntold?: true;
  /** Deprovisioned after having lived; a failed provision leaves it null. */
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
  /** Those its users set; add-ons bring more. */
  configVars?: Record<string, string>;
  /** What its manifest made of it; absent when there was none. */
  setup?: AppSetupRecord;
  /** It is gone, and its name is free; its record is kept for the add-ons that remember it. */
  destroyedAt?: number;
  name: string;
  ownerId: string;
  teamId: string | null;
  generation: string;
  region: string;
  createdAt: number;
  updatedAt: number;
}

export interface UserRecord {
  id: string;
  email: string;
  name: string;
  createdAt: number;
  lastSignInAt: number | null;
}

/** An OAuth client of the web flow. The partner's own is not among them: its secret is a setting. */
export interface ClientRecord {
  id: string;
  name: string;
  redirectUri: string;
  secret: string;
  ownerId: string;
  /** The partner's own, with which people sign in at its service: part of who the partner is. */
  isPartners?: boolean;
  createdAt: number;
  updatedAt: number;
}

/** A code of the web flow, on its way from the authorize page to the token endpoint. */
export interface CodeRecord {
  code: string;
  clientId: string;
  userId: string;
  scope: string[];
  redirectUri: string;
  expiresAt: number;
  /** The access token it was exchanged for. */
  accessToken: string | null;
}

/** Somebody signed in at the authorize page. */
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
  /** Null: the platform's own, which follows the app's name. */
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

/** "States and transitions" of the platform document; `expired` is not stored but follows from the time. */
export interface GrantRecord {
  code: string;
  addonId: string;
  state: "issued" | "exchangeable" | "exchanged" | "invalid";
  /** Why it is invalid, as a sentence. */
  reason: string | null;
  issuedAt: number;
  expiresAt: number;
  exchangeableAt: number | null;
  /** The access token it was exchanged for. */
  accessToken: string | null;
}

/** One token pair and its rate-limit bucket; a resource has one that is alive, a user any number. */
export interface AuthorizationRecord {
  id: string;
  /** Null when a user gave it. */
  addonId: string | null;
  /** Who gave it, and for what; absent in a resource's pair. */
  consent?: ConsentRecord;
  refreshToken: string;
  /** Every access token that is still remembered, the current one last. */
  accessTokens: string[];
  /** Why nothing can be refreshed with it any more, as a sentence. */
  endedBecause: string | null;
  bucket: { level: number; size: number; at: number };
}

export interface ConsentRecord {
  userId: string;
  /** Null: the user made it for themselves. */
  clientId: string | null;
  /** The client that holds it, also when it made it for itself with a token it was given; null: the user alone. */
  thirdParty: string | null;
  scope: string[];
  description: string | null;
  grantCode: string;
  sessionNonce: string;
  /** Chosen with a direct authorization: how long each of its access tokens lives. Null: they do not expire. */
  lifeSeconds?: number | null;
  createdAt: number;
  updatedAt: number;
}

export interface AccessTokenRecord {
  token: string;
  authorizationId: string;
  issuedAt: number;
  /** Null: never. */
  expiresAt: number | null;
  /** Why it died before its time, as a sentence. */
  endedBecause: string | null;
}

/** Where it hurts, in the feed's words: `Apps`, `Data`, `Tools`; green, yellow, red, or blue for maintenance. */
export interface AffectedSystem {
  name: string;
  status: string;
  services: string[];
}

/** What is posted to an incident is never changed again: each update says what has been so from then on. */
export interface IncidentUpdateRecord {
  id: number;
  type: string;
  title: string;
  contents: string;
  /** Of the incident, from this update on. */
  state: string;
  /** Empty: as before. */
  systems: AffectedSystem[];
  createdAt: number;
}

export interface IncidentRecord {
  id: number;
  kind: "incident" | "maintenance";
  title: string;
  tags: string[];
  review: boolean;
  /** Earlier than its announcement when it is told of afterwards, later when it is planned. */
  startsAt: number;
  createdAt: number;
  /** The oldest first; never empty. */
  updates: IncidentUpdateRecord[];
}

export interface ScriptRecord {
  command: string;
  size: string;
}

/** An add-on of another service than the partner's, as a manifest asked for it. */
export interface ForeignAddonRecord {
  service: string;
  /** Null: that service's default. */
  plan: string | null;
  as: string;
  options: Record<string, unknown>;
  configVars: string[];
}

/** What was done for an app, in this order. */
export interface AppStepRecord {
  step: "addon" | "deploy" | "postdeploy" | "pr-predestroy" | "destroy";
  at: number;
  /** Of the add-on, or of the script. */
  detail: Record<string, string>;
}

/** "App manifest" of the platform document: read once, when the app is created. */
export interface AppSetupRecord {
  /** `waiting`: for add-ons that are provisioned later. `failed`: one of them was not. */
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
