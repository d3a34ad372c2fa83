import { Router } from "express";
import type { Platform } from "../platform.ts";
import { reference } from "../shapes/reference.ts";
import { isoTime } from "../world/clock.ts";
import type { CollaboratorRecord } from "../world/records.ts";
import { answerList } from "./answer.ts";
import { callerOf } from "./caller.ts";
import { reachApp } from "./reach.ts";

const permissions = ["view", "deploy", "operate", "manage"];
const granted: Record<string, number> = { owner: 4, admin: 4, collaborator: 3, member: 1 };

/** "App collaborators" of the partner endpoints. */
export function collaboratorEndpoints({ world }: Platform): Router {
  const router = Router();

  router.get("/apps/:app/collaborators", (req, res) => {
    const app = reachApp(world, callerOf(res), req.params.app);
    answerList(req, res, world.collaborators.of("app", app.id), (collaborator) => ({
      id: collaborator.id,
      app: reference(app),
      user: userOf(collaborator),
      role: collaborator.role,
      permissions: permissions
        .slice(0, granted[collaborator.role] ?? 0)
        .map((name) => ({ name, description: `May ${name} the app.` })),
      created_at: isoTime(collaborator.createdAt),
      updated_at: isoTime(collaborator.createdAt),
    }));
  });

  function userOf({ userId }: CollaboratorRecord) {
    const { id, email } = world.users.get(userId)!;
    return { id, email, federated: false };
  }

  return router;
}
