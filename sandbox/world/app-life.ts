import type { AddonRecord, AppRecord, AppStepRecord } from "./records.ts";
import type { World } from "./world.ts";

/** Writes down what was done for an app. */
export function noteStep(
  world: World,
  { setup }: AppRecord,
  step: AppStepRecord["step"],
  detail: Record<string, string> = {},
): void {
  setup?.steps.push({ step, at: world.clock.now(), detail });
}

/**
 * Deploys a new app as soon as the last of its add-ons is provisioned ("Provisioned before deploy"), and runs its
 * postdeploy script, this once. An add-on that fails in the meantime ends the setup.
 */
export function goOnWithSetup(world: World, app: AppRecord): void {
  const { setup } = app;
  if (setup?.state !== "waiting") return;
  const states = setupAddons(world, app).map(({ state }) => state);
  if (states.some((state) => state === "deprovisioned" || state === "deprovisioning")) setup.state = "failed";
  if (setup.state === "failed" || states.includes("provisioning")) return;
  setup.state = "deployed";
  noteStep(world, app, "deploy");
  runScript(world, app, "postdeploy");
}

/** Scripts are written down, not run: there is no app to run them in. */
export function runScript(world: World, app: AppRecord, script: "postdeploy" | "pr-predestroy"): void {
  const found = app.setup?.scripts[script];
  if (found) noteStep(world, app, script, { ...found });
}

/** Takes an app away with what surrounds it, its add-ons apart; its name is free at once. */
export function destroyApp(world: World, app: AppRecord): void {
  noteStep(world, app, "destroy");
  const pipelines = world.couplings
    .of("app", app.id)
    .map(({ pipelineId }) => world.pipelines.get(pipelineId)!);
  for (const table of [
    world.collaborators,
    world.domains,
    world.couplings,
    world.logDrains,
    world.attachments,
  ]) {
    for (const row of table.of("app", app.id)) table.remove(row as never);
  }
  for (const pipeline of pipelines) {
    if (world.couplings.count("pipeline", pipeline.id) === 0) world.pipelines.remove(pipeline);
  }
  world.apps.rename(app, () => (app.destroyedAt = world.clock.now()));
}

/** The add-ons that the manifest asked for: those noted as a step, whatever was installed by hand since. */
function setupAddons(world: World, app: AppRecord): AddonRecord[] {
  const noted = (app.setup?.steps ?? []).filter(({ step }) => step === "addon");
  return noted.flatMap(({ detail }) => world.addons.get(detail["id"] ?? "") ?? []);
}
