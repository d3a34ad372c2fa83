import { Router } from "express";
import { answer, answerList } from "../api/answer.ts";
import type { Platform } from "../platform.ts";
import { couldNotFind, noSuchPlan } from "./refusals.ts";
import { planShape, plansOf, serviceShape } from "./shapes.ts";

/** The marketplace's one add-on service, and its plans with their prices. */
export function serviceEndpoints({ world }: Platform): Router {
  const router = Router();
  router.use("/addon-services/:service", (req, _res, next) => {
    if (!isIt(req.params.service, serviceShape(world))) throw couldNotFind("addon_service");
    next();
  });

  router.get("/addon-services", (req, res) => {
    answerList(req, res, [serviceShape(world)], (shape) => shape);
  });

  router.get("/addon-services/:service", (_req, res) => {
    answer(res, serviceShape(world), { createdAt: world.clock.now() });
  });

  router.get("/addon-services/:service/plans", (req, res) => {
    answerList(req, res, plansOf(world), (plan) => planShape(world, plan));
  });

  router.get("/addon-services/:service/plans/:plan", (req, res) => {
    const plan = plansOf(world)
      .map((each) => planShape(world, each))
      .find((each) => isIt(req.params.plan, each) || each.name.endsWith(`:${req.params.plan}`));
    if (!plan) throw noSuchPlan(req.params.plan);
    answer(res, plan, { createdAt: world.clock.now() });
  });

  return router;
}

const isIt = (wish: string, { id, name }: { id: string; name: string }) => wish === name || wish === id;
