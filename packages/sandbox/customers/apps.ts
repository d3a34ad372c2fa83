import { Router } from "express";
import { answer, answerList } from "../api/answer.ts";
import { callerOf } from "../api/caller.ts";
import { readObject } from "../api/json-body.ts";
import { reachApp } from "../api/reach.ts";
import type { Control } from "../control/control.ts";
import type { Platform } from "../platform.ts";
import { invalid, notFound } from "../refusal.ts";
import { customersAppShape, customersCouplingShape, releaseShapes } from "./shapes.ts";

/**
 * Customers make, rename and destroy apps, see each one's place in its pipeline, and the releases that changes of config vars
 * and add-ons make.
 */
export function appEndpoints({ world }: Platform, control: Control): Router {
  const router = Router();

  router.post("/apps", (req, res) => {
    const { name, region } = readObject(req, res);
    const wish = { ...given("name", name), ...given("region", region) };
    const app = world.apps.get(control.createApp(wish).id)!;
    answer(res.status(201), customersAppShape(world, app), app);
  });
  router.get("/apps/:app", (req, res) => {
    const app = reachApp(world, callerOf(res), req.params.app);
    answer(res, customersAppShape(world, app), app);
  });
  router.patch("/apps/:app", (req, res) => {
    const app = reachApp(world, callerOf(res), req.params.app);
    const { name } = given("name", readObject(req, res)["name"]);
    if (name !== undefined) control.renameApp(app.id, name);
    answer(res, customersAppShape(world, app), app);
  });
  router.delete("/apps/:app", async (req, res) => {
    const app = reachApp(world, callerOf(res), req.params.app);
    await control.destroyApp(app.id);
    answer(res, customersAppShape(world, app), app);
  });
  router.get("/apps/:app/pipeline-couplings", (req, res) => {
    const app = reachApp(world, callerOf(res), req.params.app);
    const [coupling] = world.couplings.of("app", app.id);
    if (!coupling) throw notFound("The app is in no pipeline.");
    answer(res, customersCouplingShape(world, coupling), coupling);
  });
  router.get("/apps/:app/releases", (req, res) => {
    const app = reachApp(world, callerOf(res), req.params.app);
    answerList(req, res, releaseShapes(world, app), (release) => release);
  });

  return router;
}

/** A member that may be absent or null. */
function given<Name extends string>(name: Name, value: unknown): Partial<Record<Name, string>> {
  if (value === undefined || value === null) return {};
  const wish = (value as { name?: unknown }).name ?? value;
  if (typeof wish !== "string" || wish === "") throw invalid(`${name} must be a text.`);
  return { [name]: wish } as Record<Name, string>;
}
