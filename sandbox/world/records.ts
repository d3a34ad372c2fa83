/** What the platform remembers. Plain data, times in milliseconds, so that a state file can hold it. */

export type AddonState = "provisioning" | "provisioned" | "deprovisioning" | "deprovisioned";

export interface AddonRecord {
  id: string;
  name: string;
  state: AddonState;
  appId: string;
  plan: string;
  region: string;
  options: Record<string, unknown>;
  /** Set by the partner's answers and by PATCH; order of first appearance. */
  config: Record<string, string>;
  providerId: string | null;
  provisionMessage: string | null;
  /** When the provision request was first sent: an asynchronous one is given up 12 hours later. */
  requestedAt: number;
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
  hostname: string;
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

/** One token pair and its rate-limit bucket; a resource has one that is alive. */
export interface AuthorizationRecord {
  id: string;
  addonId: string;
  refreshToken: string;
  /** Every access token that is still remembered, the current one last. */
  accessTokens: string[];
  /** Why nothing can be refreshed with it any more, as a sentence. */
  endedBecause: string | null;
  bucket: { level: number; at: number };
}

export interface AccessTokenRecord {
  token: string;
  authorizationId: string;
  issuedAt: number;
  expiresAt: number;
  /** Why it died before its time, as a sentence. */
  endedBecause: string | null;
}
