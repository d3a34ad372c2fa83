import { isoTime } from "../world/clock.ts";
import type { CollaboratorRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";
import { reference } from "./reference.ts";

const permissions = [
  { name: "view", description: "May see the app, its add-ons and its logs." },
  { name: "deploy", description: "May deploy, and add and remove what costs nothing." },
  { name: "operate", description: "May change config vars and processes, and run commands." },
  { name: "manage", description: "May rename and delete the app, and decide who works on it." },
];
/** How many of the permissions, from the first on, a role has. */
const granted: Record<string, number> = { owner: 4, admin: 4, collaborator: 3, member: 1 };

/** A collaborator of an app as the API shows them (assumed, section 5). */
export function collaboratorShape(world: World, collaborator: CollaboratorRecord) {
  const { id, email } = world.users.get(collaborator.userId)!;
  return {
    id: collaborator.id,
    app: reference(world.apps.get(collaborator.appId)!),
    user: { id, email, federated: false },
    role: collaborator.role,
    permissions: permissions.slice(0, granted[collaborator.role] ?? 0),
    created_at: isoTime(collaborator.createdAt),
    updated_at: isoTime(collaborator.createdAt),
  };
}
