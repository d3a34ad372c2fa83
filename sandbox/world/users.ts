import { invalid, notFound } from "../refusal.ts";
import { uuidOf } from "./identity.ts";
import type { UserRecord } from "./records.ts";
import type { World } from "./world.ts";

/** Owner and colleague surround every app; the newcomer has none. All are there before anybody needs them. */
const standing = ["owner@example.com", "colleague@example.com", "newcomer@example.com"];

/** The user with an e-mail, who is made when new: anybody can have an account here. */
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

/** Everybody who can be chosen at the authorize page. */
export function everyUser(world: World): UserRecord[] {
  for (const email of standing) userNamed(world, email);
  return world.users.all();
}

/** By e-mail, where a new one is welcome, or by id. */
export function findUser(world: World, emailOrId: string): UserRecord {
  if (emailOrId.includes("@")) return userNamed(world, emailOrId.trim().toLowerCase());
  everyUser(world);
  const user = world.users.get(emailOrId.toLowerCase());
  if (!user) throw notFound(`There is no user ${emailOrId}.`);
  return user;
}
