// The platform's objects as the API answers them (assumed, section 5). Only what `client.ts` says is checked when an object
// is read, and members that are not listed here are kept: read what you need with care.

/** The values we know of a set that the platform may extend. */
type Open<Known extends string> = Known | (string & {});

export interface Named {
  id: string;
  name: string;
}

interface Dated {
  /** ISO 8601, UTC. */
  created_at: string;
  updated_at: string;
}

export interface Addon extends Named, Dated {
  state: Open<"provisioning" | "provisioned" | "deprovisioning" | "deprovisioned">;
  addon_service: Named;
  /** Here the name is `service:plan`. */
  plan: Named;
  /** The primary app. Keep the id, show the name: apps are renamed. */
  app: Named;
  billing_entity: Named & { type: Open<"app" | "team"> };
  billed_price: { cents: number; contract: boolean; unit: string } | null;
  /** Names only. */
  config_vars: string[];
  actions: { id: string; label: string; action: string; url: string; requires_owner: boolean }[];
  provider_id: string;
  provision_message?: string;
  web_url: string | null;
}

export interface Attachment extends Named, Dated {
  namespace: string | null;
  addon: Named & { app: Named };
  app: Named;
  web_url: string | null;
  log_input_url: string | null;
}

/** In an update, null removes the name. */
export interface ConfigVar<Var extends string = string> {
  name: Var;
  value: string | null;
}

/** What `POST /filters/apps` answers of an app. */
export interface TeamApp extends Named, Dated {
  archived_at: string | null;
  buildpack_provided_description: string | null;
  build_stack: Named;
  stack: Named;
  git_url: string;
  internal_routing: boolean | null;
  joined: boolean;
  locked: boolean;
  maintenance: boolean;
  owner: { id: string; email: string };
  team: { name: string } | null;
  region: Named;
  space: Named | null;
  released_at: string | null;
  repo_size: number | null;
  slug_size: number | null;
  web_url: string | null;
}

export interface App extends Omit<TeamApp, "joined" | "locked" | "team" | "space"> {
  acm: boolean;
  generation: Named;
  organization: Named | null;
  team: Named | null;
  space: (Named & { shield: boolean }) | null;
}

export interface Collaborator extends Dated {
  id: string;
  app: Named;
  user: { id: string; email: string; federated: boolean };
  role: Open<"admin" | "collaborator" | "member" | "owner"> | null;
  permissions: { name: string; description: string }[];
}

export interface Domain extends Dated {
  id: string;
  hostname: string;
  kind: Open<"platform" | "custom">;
  cname: string | null;
  status: string;
  acm_status: string | null;
  acm_status_reason: string | null;
  sni_endpoint: Named | null;
  app: Named;
}

/** `url` and `token` (`d.<uuid>`) let their holder read or write logs. */
export interface LogDrain extends Dated {
  id: string;
  url: string;
  token: string;
  addon: (Named & { app: Named }) | null;
  app: Named | null;
}

export interface Pipeline extends Named, Dated {
  owner: { id: string; type: Open<"team" | "user"> } | null;
  generation: Named;
}

export interface PipelineCoupling extends Dated {
  id: string;
  app: { id: string };
  pipeline: { id: string };
  stage: Open<"test" | "review" | "development" | "staging" | "production">;
}

export interface TeamMember extends Dated {
  id: string;
  email: string;
  role: Open<"admin" | "collaborator" | "member" | "owner"> | null;
  federated: boolean;
  identity_provider: (Named & { redacted: boolean; owner: unknown }) | null;
  two_factor_authentication: boolean;
  user: { id: string; email: string; name: string | null };
}
