import { randomUUID } from "node:crypto";
import { invalid } from "../refusal.ts";
import { uuidOf } from "./identity.ts";
import type { TeamRecord } from "./records.ts";
import { userNamed } from "./users.ts";
import type { World } from "./world.ts";

const TEAM_NAME = /^[a-z][a-z0-9-]{1,28}[a-z0-9]$/;
const roles = { "owner@example.com": "admin", "colleague@example.com": "member" };

/** The id that a team of this name has, or would have. */
export function teamIdOf(name: string): string {
  return uuidOf(`team ${name}`);
}

/** The account that owns a team's apps; nobody signs in with it. */
export function teamAccountOf({ name }: TeamRecord) {
  return { id: uuidOf(`account of team ${name}`), email: `${name}@teams.example.com` };
}

/** The team with this name; a new one is created with an admin and a member. */
export function teamNamed(world: World, name: string): TeamRecord {
  if (!TEAM_NAME.test(name)) throw invalid("A team's name has 3 to 30 characters a-z, 0-9, -.");
  const known = world.teams.find(name);
  if (known) return known;
  const createdAt = world.clock.now();
  const team = world.teams.add({ id: teamIdOf(name), name, createdAt });
  for (const [email, role] of Object.entries(roles)) {
    const userId = userNamed(world, email).id;
    world.members.add({ id: randomUUID(), teamId: team.id, userId, role, createdAt });
  }
  return team;
}
