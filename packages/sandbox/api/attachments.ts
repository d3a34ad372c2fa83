import { Router } from "express";
import type { Platform } from "../platform.ts";
import { notFound } from "../refusal.ts";
import { attachmentShape } from "../shapes/attachment.ts";
import type { AttachmentRecord } from "../world/records.ts";
import { answer, answerList } from "./answer.ts";
import { callerOf } from "./caller.ts";
import { attachmentsOf, ofOpenTeams, reachAddon, reachApp, sees } from "./reach.ts";

/** "Add-on attachments" of the partner endpoints: a partner sees only those of its own add-on. */
export function attachmentEndpoints({ world }: Platform): Router {
  const router = Router();
  const shape = (attachment: AttachmentRecord) => attachmentShape(world, attachment);

  router.get("/addons/:addon/addon-attachments", (req, res) => {
    const caller = callerOf(res);
    const addon = reachAddon(world, caller, req.params.addon);
    answerList(req, res, ofOpenTeams(world, caller, attachmentsOf(world, addon)), shape);
  });

  router.get("/apps/:app/addon-attachments", (req, res) => {
    const caller = callerOf(res);
    const app = reachApp(world, caller, req.params.app);
    const seen = world.attachments.of("app", app.id).filter(({ addonId }) => sees(caller, addonId));
    answerList(req, res, seen, shape);
  });

  router.get("/apps/:app/addon-attachments/:attachment", (req, res) => {
    const app = reachApp(world, callerOf(res), req.params.app);
    const wanted = req.params.attachment;
    const attachment = world.attachments.find(wanted) ?? world.attachments.find(`${app.id}/${wanted}`);
    if (attachment?.appId !== app.id || !sees(callerOf(res), attachment.addonId)) {
      throw notFound("The app has no such attachment, or it is another add-on's.");
    }
    answer(res, shape(attachment), attachment);
  });

  return router;
}
