import { randomUUID } from "node:crypto";
import { conflict, invalid } from "../refusal.ts";
import { newName, uuidOf } from "./identity.ts";
import type { AppRecord, TeamRecord, UserRecord } from "./records.ts";
import type { World } from "./world.ts";

export interface AppWish {
  name?: string;
  /** The name of a team; made when it is new. */
  team?: string;
  /** `cedar` (also `older`) or `fir` (also `newer`). */
  generation?: string;
}

const APP_NAME = /^[a-z][a-z0-9-]{1,28}[a-z0-9]$/;
const generations: Record<string, string> = { older: "cedar", newer: "fir" };

/** An app as a customer would create it, with what surrounds an app: people, a domain, a pipeline, perhaps a team. */
export function addApp(world: World, wish: AppWish): AppRecord {
  const name = wish.name ?? newName("app", (taken) => world.apps.find(taken) !== undefined);
  if (!APP_NAME.test(name)) {
    throw invalid(
      "Name must start with a letter, end with a letter or digit and have 3 to 30 characters a-z, 0-9, -.",
    );
  }
  if (world.apps.find(name)) throw conflict(`The name ${name} is already taken.`);
  const now = world.clock.now();
  const owner = userNamed(world, "owner@example.com");
  const team = wish.team === undefined ? null : teamNamed(world, wish.team);
  const app = world.apps.add({
    id: randomUUID(),
    name,
    ownerId: owner.id,
    teamId: team?.id ?? null,
    generation: generations[wish.generation ?? "older"] ?? wish.generation ?? "cedar",
    region: world.settings.addonManifest?.regions?.[0] ?? "us",
    createdAt: now,
    updatedAt: now,
  });
  addSurroundings(world, app, owner, team);
  return app;
}

/** The newer generation takes no log drains and no buildpacks. */
export function isNewerGeneration(app: AppRecord): boolean {
  return app.generation !== "cedar";
}

function addSurroundings(world: World, app: AppRecord, owner: UserRecord, team: TeamRecord | null): void {
  const createdAt = app.createdAt;
  const colleague = userNamed(world, "colleague@example.com");
  const ownerRole = team ? "admin" : "owner";
  const colleagueRole = team ? "member" : "collaborator";
  world.collaborators.add({ id: randomUUID(), appId: app.id, userId: owner.id, role: ownerRole, createdAt });
  world.collaborators.add({
    id: randomUUID(),
    appId: app.id,
    userId: colleague.id,
    role: colleagueRole,
    createdAt,
  });
  const platformHost = `${app.name}.platform-apps.example.com`;
  world.domains.add({ id: randomUUID(), appId: app.id, hostname: platformHost, kind: "platform", createdAt });
  const customHost = `www.${app.name}.example.com`;
  world.domains.add({ id: randomUUID(), appId: app.id, hostname: customHost, kind: "custom", createdAt });
  const pipeline = world.pipelines.add({
    id: randomUUID(),
    name: app.name,
    owner: team ? { id: team.id, type: "team" } : { id: owner.id, type: "user" },
    generation: app.generation,
    createdAt,
  });
  world.couplings.add({
    id: randomUUID(),
    appId: app.id,
    pipelineId: pipeline.id,
    stage: "production",
    createdAt,
  });
}

function userNamed(world: World, email: string): UserRecord {
  const name = email.split("@")[0] ?? email;
  return world.users.find(email) ?? world.users.add({ id: uuidOf(`user ${email}`), email, name });
}

function teamNamed(world: World, name: string): TeamRecord {
  const known = world.teams.find(name);
  if (known) return known;
  const createdAt = world.clock.now();
  const team = world.teams.add({ id: uuidOf(`team ${name}`), name, createdAt });
  const roles = { "owner@example.com": "admin", "colleague@example.com": "member" };
  for (const [email, role] of Object.entries(roles)) {
    world.members.add({
      id: randomUUID(),
      teamId: team.id,
      userId: userNamed(world, email).id,
      role,
      createdAt,
    });
  }
  return team;
}
