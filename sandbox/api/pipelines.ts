import { Router } from "express";
import type { Platform } from "../platform.ts";
import { forbidden, notFound } from "../refusal.ts";
import { uuidOf } from "../world/identity.ts";
import { isoTime } from "../world/clock.ts";
import type { AddonRecord, CouplingRecord, PipelineRecord } from "../world/records.ts";
import { answer, answerList } from "./answer.ts";
import { callerOf } from "./caller.ts";
import { reachableApps, reachApp } from "./reach.ts";

/** "Pipelines" of the partner endpoints: those with an app the add-on is attached to, and only its couplings. */
export function pipelineEndpoints({ world }: Platform): Router {
  const router = Router();

  router.get("/pipelines/:pipeline", (req, res) => {
    const pipeline = reachPipeline(callerOf(res), world.pipelines.find(req.params.pipeline));
    answer(res, pipelineShape(pipeline), pipeline);
  });

  router.get("/pipelines", (req, res) => {
    const ids = new Set(reachableCouplings(callerOf(res)).map(({ pipelineId }) => pipelineId));
    answerList(
      req,
      res,
      [...ids].map((id) => world.pipelines.get(id)!),
      pipelineShape,
    );
  });

  router.get("/pipelines/:pipeline/pipeline-couplings", (req, res) => {
    const pipeline = reachPipeline(callerOf(res), world.pipelines.get(req.params.pipeline));
    const couplings = reachableCouplings(callerOf(res)).filter(
      ({ pipelineId }) => pipelineId === pipeline.id,
    );
    answerList(req, res, couplings, couplingShape);
  });

  router.get("/pipeline-couplings", (req, res) => {
    answerList(req, res, reachableCouplings(callerOf(res)), couplingShape);
  });

  router.get("/pipeline-couplings/:coupling", (req, res) => {
    const coupling = world.couplings.get(req.params.coupling);
    if (!coupling) throw notFound("There is no such pipeline coupling.");
    reachApp(world, callerOf(res), coupling.appId);
    answer(res, couplingShape(coupling), coupling);
  });

  // One object, not an array: an app stands in one pipeline at most (decisions, section 5).
  router.get("/apps/:app/pipeline-couplings", (req, res) => {
    const app = reachApp(world, callerOf(res), req.params.app);
    const [coupling] = world.couplings.of("app", app.id);
    if (!coupling) throw notFound("The app is in no pipeline.");
    answer(res, couplingShape(coupling), coupling);
  });

  function reachableCouplings(caller: AddonRecord): CouplingRecord[] {
    return reachableApps(world, caller).flatMap((app) => world.couplings.of("app", app.id));
  }

  function reachPipeline(caller: AddonRecord, pipeline: PipelineRecord | undefined): PipelineRecord {
    if (!pipeline) throw notFound("There is no such pipeline.");
    if (!reachableCouplings(caller).some(({ pipelineId }) => pipelineId === pipeline.id)) {
      throw forbidden("The add-on is attached to no app of this pipeline.");
    }
    return pipeline;
  }

  return router;
}

function pipelineShape(pipeline: PipelineRecord) {
  return {
    id: pipeline.id,
    name: pipeline.name,
    owner: pipeline.owner,
    generation: { id: uuidOf(`generation ${pipeline.generation}`), name: pipeline.generation },
    created_at: isoTime(pipeline.createdAt),
    updated_at: isoTime(pipeline.createdAt),
  };
}

function couplingShape(coupling: CouplingRecord) {
  return {
    id: coupling.id,
    app: { id: coupling.appId },
    pipeline: { id: coupling.pipelineId },
    stage: coupling.stage,
    created_at: isoTime(coupling.createdAt),
    updated_at: isoTime(coupling.createdAt),
  };
}
