import { invalid, notFound } from "../refusal.ts";
import { uuidOf } from "./identity.ts";
import type { UserRecord } from "./records.ts";
import type { World } from "./world.ts";

/**
 * Every app has the owner and the colleague as collaborators; the newcomer has no app. All exist before they are
 * needed.
 */
/** The owner of every app that belongs to no team. */
export const OWNER = "owner@example.com";
const standing = [OWNER, "colleague@example.com", "newcomer@example.com"];

/** The user with this e-mail; an unknown address gets a new account. */
export function userNamed(world: World, email: string): UserRecord {
  const known = world.users.find(email);
  if (known) return known;
  if (!/^[^\s@]+@[^\s@]+$/.test(email) || email.length > 254) throw invalid(`"${email}" is not an e-mail.`);
  return world.users.add({
    id: uuidOf(`user ${email}`),
    email,
    name: email.split("@")[0]!,
    createdAt: world.clock.now(),
    lastSignInAt: null,
  });
}

/** All users that can be chosen at the authorize page. */
export function everyUser(world: World): UserRecord[] {
  for (const email of standing) userNamed(world, email);
  return world.users.all();
}

/** Finds a user by e-mail, where an unknown one gets an account, or by id. Throws for an unknown id. */
export function findUser(world: World, emailOrId: string): UserRecord {
  if (emailOrId.includes("@")) return userNamed(world, emailOrId.trim().toLowerCase());
  everyUser(world);
  const user = world.users.get(emailOrId.toLowerCase());
  if (!user) throw notFound(`There is no user ${emailOrId}.`);
  return user;
}
