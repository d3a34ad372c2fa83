import express, { type Request, Router } from "express";
import { isObject } from "../is-object.ts";
import { forbidden, invalid, notFound } from "../refusal.ts";
import type { PartnerSettings } from "../settings.ts";
import { isTooDeep } from "../wire/body.ts";
import type { FaultAction } from "../wire/fault.ts";
import { checkAppWish } from "./app-wish.ts";
import type { Control } from "./control.ts";
import { checkInstall, checkPlanChange, checkRedelivery, checkSignOn } from "./delivery-wishes.ts";
import { checkLedgerQuery } from "./ledger-wish.ts";
import { type Check, checkMembers, flag, oneOf, text } from "./members.ts";
import { checkAuthorize, checkClient, checkUserToken } from "./people-wishes.ts";

/** Members of a fault are checked where faults are stored. */
const asItIs: Check = (value) => value;
const seconds: Check = (value) => {
  if (typeof value !== "number" || !Number.isFinite(value)) throw new Error("must be a number of seconds");
  return value;
};
const faultMembers = { match: asItIs, action: asItIs, times: asItIs };

/**
 * The control API over HTTP, for people, tests in other languages and scripts. `mayReveal`: the ledger may be read without
 * its mask.
 */
export function controlRoutes(control: Control, mayReveal = true): Router {
  const router = Router();
  router.use(express.json({ limit: "1mb", type: () => true }));

  router.get("/health", (_req, res) => void res.json({ status: "ok" }));
  router.post("/reset", (_req, res) => void res.json((control.reset(), { status: "reset" })));
  router.get("/state", (_req, res) => void res.json(control.state()));
  router.get("/ledger", async (req, res) => {
    const { waitMs, ...query } = checkLedgerQuery(req.query);
    if (query.reveal && !mayReveal)
      throw forbidden("The sandbox reveals secrets on the loopback address only.");
    const left = new AbortController();
    res.once("close", () => left.abort());
    res.json(await control.awaitLedger(query, waitMs, left.signal));
  });

  router.post("/apps", async (req, res) => {
    const wish = checkAppWish(bodyOf(req));
    const isPlain = wish.manifest === undefined && wish.environment === undefined && wish.env === undefined;
    res.status(201).json(isPlain ? control.createApp(wish) : await control.createAppFromManifest(wish));
  });
  router.get("/apps/:app", (req, res) => void res.json(control.app(req.params.app)));
  router.delete("/apps/:app", async (req, res) => void res.json(await control.destroyApp(req.params.app)));
  router.post("/apps/:app/deploys", (req, res) => void res.status(201).json(control.deploy(req.params.app)));
  router.patch("/apps/:app", (req, res) => {
    const { name } = checkMembers(bodyOf(req), { name: text }, ["name"]) as { name: string };
    res.json(control.renameApp(req.params.app, name));
  });
  router.get("/apps/:app/config-vars", (req, res) => void res.json(control.configVars(req.params.app)));
  router.post("/apps/:app/addons", async (req, res) => {
    const { silent, ...wish } = checkInstall(bodyOf(req));
    const wanted = { ...wish, app: req.params.app };
    const installed = silent ? control.installWithoutProvision(wanted) : control.install(wanted);
    res.status(201).json(await installed);
  });

  router.get("/addons/:id", (req, res) => void res.json(control.addon(req.params.id)));
  router.post("/addons/:id/redeliver", async (req, res) => {
    res.json(await control.redeliver(req.params.id, checkRedelivery(bodyOf(req))));
  });
  router.patch("/addons/:id", async (req, res) => {
    const { plan, ...how } = checkPlanChange(bodyOf(req));
    res.json(await control.changePlan(req.params.id, plan, how));
  });
  router.delete("/addons/:id", async (req, res) => {
    const { silent } = checkMembers(bodyOf(req), { silent: flag });
    if (silent) res.json(control.removeWithoutDeprovision(req.params.id));
    else res.json(await control.deprovision(req.params.id));
  });
  router.post("/addons/:id/attachments", (req, res) => {
    const wish = checkMembers(bodyOf(req), { app: text, name: text }, ["app"]);
    res.status(201).json(control.attach(req.params.id, wish as { app: string; name?: string }));
  });
  router.post("/addons/:id/sso", async (req, res) => {
    const { email, form } = checkSignOn(bodyOf(req));
    res.json(form ? control.signOnForm(req.params.id, email) : await control.signOn(req.params.id, email));
  });
  router.post("/addons/:id/revoke", (req, res) => {
    const { token } = checkMembers(bodyOf(req), { token: oneOf("access", "refresh") }, ["token"]);
    control.revoke(req.params.id, token as "access" | "refresh");
    res.json(control.addon(req.params.id));
  });

  router.post("/client-secret/reset", (_req, res) => void res.json(control.resetClientSecret()));
  router.post("/users/:user/token", (req, res) => {
    res.status(201).json(control.userToken(req.params.user, checkUserToken(bodyOf(req))));
  });
  router.post("/clients", (req, res) => {
    res.status(201).json(control.registerClient(checkClient(bodyOf(req))));
  });
  router.post("/authorize", (req, res) => {
    res.json({ location: control.authorize(checkAuthorize(bodyOf(req))) });
  });
  router.post("/clock", (req, res) => {
    const { advance } = checkMembers(bodyOf(req), { advance: seconds }, ["advance"]);
    res.json(control.advanceClock(advance as number));
  });
  router.get("/faults", (_req, res) => void res.json(control.faults()));
  router.post("/faults", (req, res) => {
    const { match, action, times } = checkMembers(bodyOf(req), faultMembers, ["match", "action"]);
    res.status(201).json(control.fault(match as string, action as FaultAction, times as number | undefined));
  });
  router.delete("/faults", (_req, res) => void res.json((control.clearFaults(), [])));
  router.post("/incidents", (req, res) => void res.status(201).json(control.openIncident(bodyOf(req))));
  router.patch("/incidents/:id", (req, res) => {
    res.json(control.updateIncident(req.params.id, bodyOf(req)));
  });
  router.post("/settings", (req, res) => void res.json(control.settings(bodyOf(req))));
  router.put("/partner", (req, res) => void res.json(control.partner(bodyOf<Partial<PartnerSettings>>(req))));

  router.use((req) => {
    throw notFound(`There is no ${req.method} /sandbox${req.path}.`);
  });
  return router;
}

function bodyOf<Body extends object>(req: Request): Body {
  const body: unknown = req.body ?? {};
  if (!isObject(body)) throw invalid("The body must be a JSON object.");
  if (isTooDeep(body)) throw invalid("The body is nested too deep.");
  return body as Body;
}
