import type { FaultRecord } from "../wire/fault.ts";
import type * as records from "./records.ts";
import { createTable } from "./table.ts";

/** All state of the platform, one table for each kind of record, with the indices its endpoints need. */
export function createTables() {
  return {
    users: createTable<records.UserRecord>({ key: (user) => user.id, name: (user) => user.email }),
    teams: createTable<records.TeamRecord>({ key: (team) => team.id, name: (team) => team.name }),
    members: createTable<records.MemberRecord>({
      key: (member) => member.id,
      groups: { team: (member) => member.teamId, user: (member) => member.userId },
    }),
    apps: createTable<records.AppRecord>({
      key: (app) => app.id,
      // The name of a destroyed app is free.
      name: (app) => (app.destroyedAt === undefined ? app.name : app.id),
      groups: { team: (app) => app.teamId },
    }),
    collaborators: createTable<records.CollaboratorRecord>({
      key: (collaborator) => collaborator.id,
      groups: { app: (collaborator) => collaborator.appId, user: (collaborator) => collaborator.userId },
    }),
    domains: createTable<records.DomainRecord>({
      key: (domain) => domain.id,
      groups: { app: (domain) => domain.appId },
    }),
    pipelines: createTable<records.PipelineRecord>({
      key: (pipeline) => pipeline.id,
      name: (pipeline) => pipeline.name,
    }),
    couplings: createTable<records.CouplingRecord>({
      key: (coupling) => coupling.id,
      groups: { app: (coupling) => coupling.appId, pipeline: (coupling) => coupling.pipelineId },
    }),
    addons: createTable<records.AddonRecord>({
      key: (addon) => addon.id,
      name: (addon) => addon.name,
      groups: { app: (addon) => addon.appId },
    }),
    attachments: createTable<records.AttachmentRecord>({
      key: (attachment) => attachment.id,
      // An attachment's name is unique only within its app.
      name: ({ appId, name }) => `${appId}/${name}`,
      groups: { app: (attachment) => attachment.appId, addon: (attachment) => attachment.addonId },
    }),
    logDrains: createTable<records.LogDrainRecord>({
      key: (drain) => drain.id,
      groups: { app: (drain) => drain.appId, addon: (drain) => drain.addonId },
    }),
    grants: createTable<records.GrantRecord>({
      key: (grant) => grant.code,
      groups: { addon: (grant) => grant.addonId },
    }),
    authorizations: createTable<records.AuthorizationRecord>({
      key: (authorization) => authorization.id,
      groups: {
        addon: (authorization) => authorization.addonId,
        user: (authorization) => authorization.consent?.userId ?? null,
        // Also authorizations that a client made for itself with a token it was given.
        client: ({ consent }) => consent?.thirdParty ?? consent?.clientId ?? null,
      },
    }),
    accessTokens: createTable<records.AccessTokenRecord>({ key: (accessToken) => accessToken.token }),
    refreshTokens: createTable<{ token: string; authorizationId: string }>({ key: (row) => row.token }),
    clients: createTable<records.ClientRecord>({
      key: (client) => client.id,
      groups: { owner: (client) => client.ownerId },
    }),
    // Former secrets are kept: they are refused with the reason, and masked in the ledger.
    clientSecrets: createTable<{ secret: string; clientId: string }>({ key: (row) => row.secret }),
    codes: createTable<records.CodeRecord>({ key: (code) => code.code }),
    faults: createTable<FaultRecord>({ key: (fault) => fault.id }),
    incidents: createTable<records.IncidentRecord>({ key: (incident) => String(incident.id) }),
    sessions: createTable<records.SessionRecord>({ key: (session) => session.id }),
  };
}

export type Tables = ReturnType<typeof createTables>;
