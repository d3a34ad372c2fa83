import { type Request, type Response, Router } from "express";
import { answer, answerList } from "../api/answer.ts";
import { callerOf } from "../api/caller.ts";
import { readObject } from "../api/json-body.ts";
import { addonsOn, reachableAddons, reachAddon, reachApp, reachUser } from "../api/reach.ts";
import type { Control } from "../control/control.ts";
import { isObject } from "../is-object.ts";
import { attachmentName } from "../manifest/attachment-name.ts";
import type { Platform } from "../platform.ts";
import { invalid } from "../refusal.ts";
import { giveUpIfOverdue, leaveApps } from "../world/addon-life.ts";
import { renameAddon } from "../world/addons.ts";
import { ATTACHMENT_NAMES, isAttachmentName } from "../world/attachment-names.ts";
import type { AddonRecord } from "../world/records.ts";
import { couldNotFind, noSuchPlan, refuseIfPartnerDid } from "./refusals.ts";
import { customersAddonShape, plansOf } from "./shapes.ts";

/** Customers list, buy, change, rename and remove add-ons. Each call waits for the service's answer, as on the platform. */
export function addonEndpoints(platform: Platform, control: Control): Router {
  const router = Router();
  const { world } = platform;
  const shape = (req: Request) => (addon: AddonRecord) => customersAddonShape(platform, addon, req);

  router.get("/addons", (req, res) => {
    answerList(req, res, reachableAddons(world, callerOf(res)), shape(req));
  });
  router.get("/users/:user/addons", (req, res) => {
    reachUser(world, callerOf(res), req.params.user);
    answerList(req, res, reachableAddons(world, callerOf(res)), shape(req));
  });
  router.get("/addons/:addon", (req, res) => {
    const addon = find(res, req.params.addon);
    answer(res, shape(req)(addon), addon);
  });
  router.get("/apps/:app/addons", (req, res) => {
    const app = reachApp(world, callerOf(res), req.params.app);
    answerList(req, res, addonsOn(world, callerOf(res), app), shape(req));
  });
  router.get("/apps/:app/addons/:addon", (req, res) => {
    const addon = find(res, req.params.addon, req.params.app);
    answer(res, shape(req)(addon), addon);
  });

  router.post("/apps/:app/addons", async (req, res) => {
    const { id: app } = reachApp(world, callerOf(res), req.params.app);
    const wish = readWish(readObject(req, res));
    const { addon: made, response } = await control.install({ app, ...wish });
    const addon = world.addons.get(made.id)!;
    // The customer reads that there is no add-on, so nothing of it stays on the app.
    if (addon.state === "deprovisioned") leaveApps(world, addon);
    refuseIfPartnerDid(response, world.settings.addonId, [200, 202, ...(accepts201() ? [201] : [])]);
    answer(res.status(201), shape(req)(addon), addon);
  });

  router.patch("/apps/:app/addons/:addon", async (req, res) => {
    const addon = find(res, req.params.addon, req.params.app);
    const { plan, name } = readObject(req, res);
    if (name !== undefined) renameAddon(world, addon, text(name, "name"));
    if (plan === undefined) return answer(res, shape(req)(addon), addon);
    const { response } = await control.changePlan(addon.id, planIn(plan)!);
    refuseIfPartnerDid(response, world.settings.addonId, [200, 202]);
    const { message } = (response.body ?? {}) as { message?: unknown };
    answer(res, { ...shape(req)(addon), provision_message: message ?? null }, addon);
  });

  router.delete("/apps/:app/addons/:addon", async (req, res) => {
    const addon = find(res, req.params.addon, req.params.app);
    const { force = false } = readObject(req, res);
    const others = world.attachments.of("addon", addon.id).filter(({ appId }) => appId !== addon.appId);
    const names = new Set(others.map(({ appId }) => world.apps.get(appId)!.name));
    if (names.size > 0 && force !== true)
      throw invalid(
        `${addon.name} is attached to other apps too: ${[...names].join(", ")}. Detach it there, or use force.`,
      );
    const { response } = await control.deprovision(addon.id);
    if (addon.state !== "deprovisioned") refuseIfPartnerDid(response, world.settings.addonId, []);
    answer(res, shape(req)(addon), addon);
  });

  const accepts201 = () => world.settings.acceptCreated;

  /** A failed provision is still found, as those who wait for it must learn of its end; a removed add-on is not. */
  function find(res: Response, idOrName: string, appName?: string): AddonRecord {
    const addon = world.addons.find(idOrName);
    const isEnded = addon?.isEndConfirmed || addon?.isEndForeseen;
    if (!addon || addon.isVanished || (isEnded && !addon.isGivenUp)) throw couldNotFind("add_on");
    reachAddon(world, callerOf(res), addon.id);
    const isOfApp = appName === undefined || world.apps.find(appName)?.id === addon.appId;
    if (!isOfApp) throw couldNotFind("add_on");
    return giveUpIfOverdue(world, addon);
  }

  function readWish({ plan, name, attachment, config }: Record<string, unknown>) {
    const { name: as } = isObject(attachment) ? attachment : {};
    const options = config ?? {};
    if (!isObject(options)) throw invalid("config must be an object of options.");
    const chosen = planIn(plan);
    return {
      options,
      ...(chosen !== undefined && { plan: chosen }),
      ...(name !== undefined && name !== null && { name: text(name, "name") }),
      ...(as !== undefined && as !== null && { as: nameIn(as) }),
    };
  }

  /** The bare name of a plan, given as an object or a text with `SERVICE:PLAN` or `SERVICE`; undefined: the default one. */
  function planIn(wish: unknown): string | undefined {
    const whole = text(isObject(wish) ? (wish["name"] ?? wish["id"]) : wish, "plan");
    const [service, plan] = whole.split(":");
    const { addonId, addonManifest } = world.settings;
    if (service !== addonId) throw noSuchPlan(whole);
    if (plan === undefined) return undefined;
    const isSold = addonManifest === null || plansOf(world).some(({ name }) => name === plan);
    if (!isSold || plan === "") throw noSuchPlan(whole);
    return plan;
  }

  return router;
}

/** Customers may write an attachment's name in small letters. */
function nameIn(as: unknown): string {
  const name = attachmentName(text(as, "attachment.name"));
  if (!isAttachmentName(name)) throw invalid(ATTACHMENT_NAMES);
  return name;
}

function text(value: unknown, member: string): string {
  if (typeof value !== "string" || value === "" || !value.isWellFormed())
    throw invalid(`${member} must be a text.`);
  return value;
}
