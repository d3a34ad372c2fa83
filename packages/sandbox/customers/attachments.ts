import { type Request, type Response, Router } from "express";
import { answer, answerList } from "../api/answer.ts";
import { callerOf } from "../api/caller.ts";
import { readObject } from "../api/json-body.ts";
import { reachableApps, reachAddon, reachApp } from "../api/reach.ts";
import type { Control } from "../control/control.ts";
import { isObject } from "../is-object.ts";
import { attachmentName } from "../manifest/attachment-name.ts";
import type { Platform } from "../platform.ts";
import { invalid } from "../refusal.ts";
import { detach } from "../world/attachments.ts";
import type { AttachmentRecord } from "../world/records.ts";
import { couldNotFind } from "./refusals.ts";
import { customersAttachmentShape } from "./shapes.ts";

/** Customers see by which names their apps have the add-ons, attach one to another app, and detach it. */
export function attachmentEndpoints(platform: Platform, control: Control): Router {
  const router = Router();
  const { world } = platform;
  const shape = (req: Request) => (attachment: AttachmentRecord) =>
    customersAttachmentShape(platform, attachment, req);

  router.get("/addon-attachments", (req, res) => {
    const apps = reachableApps(world, callerOf(res));
    answerList(
      req,
      res,
      apps.flatMap(({ id }) => living(world.attachments.of("app", id))),
      shape(req),
    );
  });
  router.get("/apps/:app/addon-attachments", (req, res) => {
    const app = reachApp(world, callerOf(res), req.params.app);
    answerList(req, res, living(world.attachments.of("app", app.id)), shape(req));
  });
  router.get("/addons/:addon/addon-attachments", (req, res) => {
    const addon = world.addons.find(req.params.addon);
    if (!addon) throw couldNotFind("add_on");
    reachAddon(world, callerOf(res), addon.id);
    answerList(req, res, living(world.attachments.of("addon", addon.id)), shape(req));
  });
  router.get("/apps/:app/addon-attachments/:attachment", (req, res) => {
    const { id } = reachApp(world, callerOf(res), req.params.app);
    const wanted = req.params.attachment;
    const found = world.attachments.find(`${id}/${wanted}`) ?? world.attachments.find(wanted);
    if (found?.appId !== id) throw couldNotFind("add_on attachment");
    answer(res, shape(req)(found), found);
  });
  router.get("/addon-attachments/:attachment", (req, res) => {
    const attachment = find(res, req.params.attachment);
    answer(res, shape(req)(attachment), attachment);
  });

  router.post("/addon-attachments", (req, res) => {
    const { addon: addonWish, app: appWish, name } = readObject(req, res);
    const addon = world.addons.find(named(addonWish, "addon"));
    if (!addon || addon.state === "deprovisioned") throw couldNotFind("add_on");
    const app = world.apps.find(named(appWish, "app"));
    if (!app || app.destroyedAt !== undefined) throw couldNotFind("app");
    reachAddon(world, callerOf(res), addon.id);
    reachApp(world, callerOf(res), app.id);
    const as = typeof name === "string" ? { name: attachmentName(name) } : {};
    const { id } = control.attach(addon.id, { app: app.id, ...as });
    const made = world.attachments.get(id)!;
    answer(res.status(201), shape(req)(made), made);
  });

  router.delete("/addon-attachments/:attachment", (req, res) => {
    const attachment = find(res, req.params.attachment);
    const { appId, addonId } = attachment;
    if (world.addons.get(addonId)!.appId === appId && world.attachments.count("addon", addonId) === 1)
      throw invalid("This is the last attachment of the add-on. Destroy the add-on instead.");
    const body = shape(req)(attachment);
    detach(world, attachment);
    platform.changed();
    answer(res, body, attachment);
  });

  const living = (attachments: AttachmentRecord[]) =>
    attachments.filter(({ addonId }) => world.addons.get(addonId)!.state !== "deprovisioned");

  function find(res: Response, id: string): AttachmentRecord {
    const attachment = world.attachments.find(id);
    if (!attachment) throw couldNotFind("add_on attachment");
    reachApp(world, callerOf(res), attachment.appId);
    return attachment;
  }

  return router;
}

/** An object is named by an object with `id` or `name`, or by a text. */
function named(wish: unknown, member: string): string {
  const name = isObject(wish) ? (wish["id"] ?? wish["name"]) : wish;
  if (typeof name !== "string") throw invalid(`${member} must be an id or a name.`);
  return name;
}
