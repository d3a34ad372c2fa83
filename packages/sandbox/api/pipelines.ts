import { Router } from "express";
import type { Platform } from "../platform.ts";
import { forbidden, notFound } from "../refusal.ts";
import { couplingShape, pipelineShape } from "../shapes/pipeline.ts";
import type { CouplingRecord, PipelineRecord } from "../world/records.ts";
import { answer, answerList } from "./answer.ts";
import { type Caller, callerOf } from "./caller.ts";
import { reachableApps, reachApp } from "./reach.ts";

/** "Pipelines" of the partner endpoints: those with an app in reach, with only the couplings of these apps. */
export function pipelineEndpoints({ world }: Platform): Router {
  const router = Router();

  router.get("/pipelines/:pipeline", (req, res) => {
    const pipeline = reachPipeline(callerOf(res), world.pipelines.find(req.params.pipeline));
    answer(res, pipelineShape(pipeline), pipeline);
  });

  router.get("/pipelines", (req, res) => {
    const ids = new Set(reachableCouplings(callerOf(res)).map(({ pipelineId }) => pipelineId));
    const pipelines = [...ids].map((id) => world.pipelines.get(id)!);
    answerList(req, res, pipelines, pipelineShape);
  });

  // Found by id only, unlike the pipeline itself, as in the platform document.
  router.get("/pipelines/:pipeline/pipeline-couplings", (req, res) => {
    const { id } = reachPipeline(callerOf(res), world.pipelines.get(req.params.pipeline.toLowerCase()));
    const couplings = reachableCouplings(callerOf(res)).filter(({ pipelineId }) => pipelineId === id);
    answerList(req, res, couplings, couplingShape);
  });

  router.get("/pipeline-couplings", (req, res) => {
    answerList(req, res, reachableCouplings(callerOf(res)), couplingShape);
  });

  router.get("/pipeline-couplings/:coupling", (req, res) => {
    const coupling = world.couplings.find(req.params.coupling);
    if (!coupling) throw notFound("There is no such pipeline coupling.");
    if (!reachableCouplings(callerOf(res)).includes(coupling))
      throw forbidden("The coupling's app is out of the token's reach.");
    answer(res, couplingShape(coupling), coupling);
  });

  // One object, not an array: an app is in one pipeline at most (assumed, section 5).
  router.get("/apps/:app/pipeline-couplings", (req, res) => {
    const app = reachApp(world, callerOf(res), req.params.app);
    const [coupling] = world.couplings.of("app", app.id);
    if (!coupling) throw notFound("The app is in no pipeline.");
    answer(res, couplingShape(coupling), coupling);
  });

  function reachableCouplings(caller: Caller): CouplingRecord[] {
    return reachableApps(world, caller).flatMap((app) => world.couplings.of("app", app.id));
  }

  function reachPipeline(caller: Caller, pipeline: PipelineRecord | undefined): PipelineRecord {
    if (!pipeline) throw notFound("There is no such pipeline.");
    if (!reachableCouplings(caller).some(({ pipelineId }) => pipelineId === pipeline.id))
      throw forbidden("The token reaches none of the pipeline's apps.");
    return pipeline;
  }

  return router;
}
