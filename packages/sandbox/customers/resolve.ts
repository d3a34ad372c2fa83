import { type Request, type Response, Router } from "express";
import { callerOf } from "../api/caller.ts";
import { readObject } from "../api/json-body.ts";
import { addonsOn, reachableAddons, reachableApps, reachApp } from "../api/reach.ts";
import type { Platform } from "../platform.ts";
import { invalid } from "../refusal.ts";
import type { AddonRecord, AppRecord, AttachmentRecord } from "../world/records.ts";
import { couldNotFind } from "./refusals.ts";
import { customersAddonShape, customersAttachmentShape } from "./shapes.ts";

/**
 * What a customer may mean by a word: an add-on by its id, its name, its service, or an attachment of it (`NAME`, or
 * `APP::NAME`). Both calls answer all that fit, not paged; tools refuse more than one.
 */
export function resolveEndpoints(platform: Platform): Router {
  const router = Router();
  const { world } = platform;

  router.post("/actions/addons/resolve", (req, res) => {
    const { word, app, service } = readWish(req, res, "addon");
    const caller = callerOf(res);
    const named = attachmentsNamed(res, word, app).map(({ addonId }) => addonId);
    const addons = app ? addonsOn(world, caller, app) : reachableAddons(world, caller);
    const isMeant = ({ id, name }: AddonRecord) =>
      [id, name, world.settings.addonId].includes(word) || named.includes(id);
    const found = isService(service) ? addons.filter(isMeant) : [];
    // A name of its own is unambiguous.
    const exact = found.filter(({ id, name }) => id === word || name === word);
    if (found.length === 0) throw couldNotFind("add_on");
    res.json((exact.length > 0 ? exact : found).map((addon) => customersAddonShape(platform, addon, req)));
  });

  router.post("/actions/addon-attachments/resolve", (req, res) => {
    const { word, app, service } = readWish(req, res, "addon_attachment");
    const found = isService(service) ? attachmentsNamed(res, word, app) : [];
    if (found.length === 0) throw couldNotFind("add_on attachment");
    res.json(found.map((attachment) => customersAttachmentShape(platform, attachment, req)));
  });

  const isService = (service: unknown) =>
    service === undefined || service === null || service === world.settings.addonId;

  function readWish(req: Request, res: Response, member: string) {
    const { [member]: whole, app: appName, addon_service: service } = readObject(req, res);
    if (typeof whole !== "string" || whole === "") throw invalid(`${member} must be a name or an id.`);
    const [ofApp, word] = whole.includes("::") ? (whole.split("::") as [string, string]) : [appName, whole];
    if (ofApp === undefined || ofApp === null) return { word, app: null, service };
    const app = world.apps.find(String(ofApp));
    if (!app || app.destroyedAt !== undefined) throw couldNotFind("app");
    return { word, app: reachApp(world, callerOf(res), app.id), service };
  }

  function attachmentsNamed(res: Response, word: string, app: AppRecord | null): AttachmentRecord[] {
    const apps = app ? [app] : reachableApps(world, callerOf(res));
    return apps
      .flatMap(({ id }) => world.attachments.of("app", id))
      .filter(({ id, name }) => id === word || (app !== null && name === word.toUpperCase()));
  }

  return router;
}
