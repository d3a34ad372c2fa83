import { Router } from "express";
import type { Platform } from "../platform.ts";
import { forbidden, notFound } from "../refusal.ts";
import { teamMemberShape } from "../shapes/team-member.ts";
import { answerList } from "./answer.ts";
import { callerOf } from "./caller.ts";
import { reachableApps } from "./reach.ts";

/** "Team members" of the partner endpoints: for teams that own an app the add-on is attached to. */
export function teamEndpoints({ world }: Platform): Router {
  const router = Router();
  router.get("/teams/:team/members", (req, res) => {
    const team = world.teams.find(req.params.team);
    if (!team) throw notFound("There is no such team.");
    if (!reachableApps(world, callerOf(res)).some(({ teamId }) => teamId === team.id))
      throw forbidden("The token reaches none of the team's apps.");
    answerList(req, res, world.members.of("team", team.id), (member) => teamMemberShape(world, member));
  });
  return router;
}
