import { type AppPlan, planApp } from "../manifest/app-plan.ts";
import { sendDeprovision } from "../partner/deprovision.ts";
import { sendProvision } from "../partner/provision.ts";
import type { Platform } from "../platform.ts";
import { conflict, invalid } from "../refusal.ts";
import { addAddon } from "../world/addons.ts";
import { destroyApp, goOnWithSetup, noteStep, runScript } from "../world/app-life.ts";
import { addApp, generationOf, isNewerGeneration } from "../world/apps.ts";
import { issueGrant } from "../world/grants.ts";
import type { AppRecord } from "../world/records.ts";
import { appReport } from "./app-report.ts";
import { checkAppWish, type ManifestAppWish } from "./app-wish.ts";
import { findApp } from "./find.ts";

/** The life of an app that is made from a manifest ("App manifest"). */
export function createAppControl(platform: Platform) {
  const { world } = platform;

  async function installAll(app: AppRecord, addons: AppPlan["addons"]): Promise<void> {
    for (const wanted of addons) {
      const addon = addAddon(world, app, wanted);
      const provision = sendProvision(platform, addon, issueGrant(world, addon));
      platform.changed();
      const { status } = await provision;
      if (platform.closing.aborted) throw conflict("The sandbox was closed while the app was made.");
      if (app.destroyedAt !== undefined || world.apps.get(app.id) !== app)
        throw conflict(`The app ${app.name} was destroyed while its add-ons were provisioned.`);
      if (addon.state === "deprovisioned") {
        const reason = addon.provisionMessage ?? "There was no answer.";
        await takeDown(app, status === null ? [] : [addon.id]);
        throw invalid(
          `The add-on ${wanted.service} was not provisioned, so the app was not created: ${reason}`,
        );
      }
      noteStep(world, app, "addon", {
        id: addon.id,
        addon: wanted.service,
        plan: wanted.plan,
        as: wanted.as,
      });
    }
  }

  /**
   * Deprovisions the add-ons of an app and destroys it. `done`: the ids of those that never existed, because their
   * provision was refused, and of those that are told.
   */
  async function takeDown(app: AppRecord, done: string[] = []): Promise<void> {
    const addons = world.addons.of("app", app.id);
    const living = addons.filter(({ id, deprovisionedAt }) => !done.includes(id) && deprovisionedAt === null);
    // Its add-ons are told first; one whose service does not answer stays `deprovisioning`, and the request can be sent
    // again.
    await Promise.all(living.map((addon) => sendDeprovision(platform, addon)));
    // Throws if somebody else has destroyed it meanwhile, or the sandbox was reset.
    findApp(world, app.id);
    // Another may have been installed meanwhile.
    if (living.length > 0) return takeDown(app, [...done, ...living.map(({ id }) => id)]);
    destroyApp(world, app);
    platform.changed();
  }

  return {
    /**
     * Makes an app from a manifest: config vars, add-ons, then the deploy; all of it or nothing. If the sandbox stops
     * meanwhile, the next one on its state file keeps what existed, with the setup marked as failed.
     */
    async createAppFromManifest(given: ManifestAppWish = {}) {
      const { manifest = {}, environment, env = {}, ...wish } = checkAppWish(given);
      const isNewer = isNewerGeneration({ generation: generationOf(wish.generation ?? "older") });
      const needs = { manifest, environment: environment ?? null, env, isNewerGeneration: isNewer };
      const plan = planApp(world.settings, needs);
      const app = addApp(world, { ...(environment && { stage: environment }), ...wish });
      Object.assign(app, { configVars: plan.configVars, setup: plan.setup });
      await installAll(app, plan.addons);
      plan.setup.state = "waiting";
      goOnWithSetup(world, app);
      platform.changed();
      return appReport(world, app);
    },

    /** The app with the steps that were taken for it. */
    app: (app: string) => appReport(world, findApp(world, app)),

    /** Deploys the same app again. Its manifest is not read again: "not on redeploy". */
    deploy(id: string) {
      const app = findApp(world, id);
      if (app.setup && app.setup.state !== "deployed")
        throw conflict(`The app's setup is ${app.setup.state}.`);
      noteStep(world, app, "deploy");
      app.updatedAt = world.clock.now();
      platform.changed();
      return appReport(world, app);
    },

    /** Destroys an app and deprovisions its add-ons; a review app runs its `pr-predestroy` script before. */
    async destroyApp(id: string) {
      const app = findApp(world, id);
      if (app.setup?.environment === "review") runScript(world, app, "pr-predestroy");
      await takeDown(app);
      return appReport(world, app);
    },
  };
}
