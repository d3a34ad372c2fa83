import { Router } from "express";
import type { Platform } from "../platform.ts";
import { forbidden, notFound } from "../refusal.ts";
import { isoTime } from "../world/clock.ts";
import { answerList } from "./answer.ts";
import { callerOf } from "./caller.ts";
import { reachableApps } from "./reach.ts";

/** "Team members" of the partner endpoints: of teams that own an app the add-on is attached to. */
export function teamEndpoints({ world }: Platform): Router {
  const router = Router();
  router.get("/teams/:team/members", (req, res) => {
    const team = world.teams.find(req.params.team);
    if (!team) throw notFound("There is no such team.");
    if (!reachableApps(world, callerOf(res)).some((app) => app.teamId === team.id)) {
      throw forbidden("The add-on reaches no app of this team.");
    }
    answerList(req, res, world.members.of("team", team.id), (member) => {
      const { id, email, name } = world.users.get(member.userId)!;
      return {
        id: member.id,
        email,
        role: member.role,
        federated: false,
        identity_provider: null,
        two_factor_authentication: true,
        user: { id, email, name },
        created_at: isoTime(member.createdAt),
        updated_at: isoTime(member.createdAt),
      };
    });
  });
  return router;
}
