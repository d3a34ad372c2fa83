import express, { Router, type Request } from "express";
import { invalid, notFound } from "../refusal.ts";
import type { FaultAction } from "../wire/faults.ts";
import type { PartnerSettings } from "../settings.ts";
import { checkAppWish } from "./app-wish.ts";
import type { Control } from "./control.ts";
import { checkInstall, checkPlanChange, checkRedelivery } from "./delivery-wishes.ts";
import { type Check, checkMembers } from "./members.ts";
import type { AuthorizeWish, UserTokenWish } from "./people.ts";
import { checkTexts } from "./wishes.ts";

/** What is in them is checked where faults are kept. */
const asItIs: Check = (value) => value;
const faultMembers = { match: asItIs, action: asItIs, times: asItIs };

/** The control side over HTTP: what people, tests in other languages and the sandbox's own page call. */
export function controlRoutes(control: Control): Router {
  const router = Router();
  router.use(express.json({ limit: "1mb", type: () => true }));

  router.get("/health", (_req, res) => void res.json({ status: "ok" }));
  router.post("/reset", (_req, res) => void res.json((control.reset(), { status: "reset" })));
  router.get("/state", (_req, res) => void res.json(control.state()));
  router.get("/ledger", (req, res) => {
    const since = Number(req.query["since"] ?? 0);
    if (!Number.isInteger(since)) throw invalid("since must be a number from an earlier answer's next.");
    res.json(control.ledger({ since, reveal: req.query["reveal"] === "1" }));
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
    const { name } = checkTexts(bodyOf<{ name?: string }>(req), "name");
    if (name === undefined) throw invalid("name is missing.");
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
    res.json(await control.deprovision(req.params.id));
  });
  router.post("/addons/:id/attachments", (req, res) => {
    const wish = checkTexts(bodyOf<{ app: string; name?: string }>(req), "app", "name");
    if (!wish.app) throw invalid("app is missing.");
    res.status(201).json(control.attach(req.params.id, wish));
  });
  router.post("/addons/:id/sso", async (req, res) => {
    const { user, form } = bodyOf<{ user?: string | { email?: string }; form?: boolean }>(req);
    const email = typeof user === "object" ? user.email : user;
    res.json(form ? control.signOnForm(req.params.id, email) : await control.signOn(req.params.id, email));
  });
  router.post("/addons/:id/revoke", (req, res) => {
    const { token } = bodyOf<{ token?: string }>(req);
    if (token !== "access" && token !== "refresh") throw invalid('token must be "access" or "refresh".');
    control.revoke(req.params.id, token);
    res.json(control.addon(req.params.id));
  });

  router.post("/client-secret/reset", (_req, res) => void res.json(control.resetClientSecret()));
  router.post("/users/:user/token", (req, res) => {
    const wish = bodyOf<UserTokenWish>(req);
    if (wish.scope !== undefined && !Array.isArray(wish.scope)) throw invalid("scope must be an array.");
    if (wish.prefix !== undefined && typeof wish.prefix !== "boolean")
      throw invalid("prefix must be true or false.");
    res.status(201).json(control.userToken(req.params.user, wish));
  });
  router.post("/clients", (req, res) => {
    const body = bodyOf<{ name?: string; redirect_uri?: string; owner?: string }>(req);
    const { name, redirect_uri: redirectUri, owner } = checkTexts(body, "name", "redirect_uri", "owner");
    if (!name || !redirectUri) throw invalid("name and redirect_uri are needed.");
    res.status(201).json(control.registerClient({ name, redirectUri, ...(owner && { owner }) }));
  });
  router.post("/authorize", (req, res) => {
    const wish = checkTexts(bodyOf<AuthorizeWish>(req), "url", "user");
    if (!wish.url) throw invalid("url is missing.");
    if (wish.allow !== undefined && typeof wish.allow !== "boolean")
      throw invalid("allow must be true or false.");
    res.json({ location: control.authorize(wish) });
  });
  router.post("/clock", (req, res) => {
    const { advance } = bodyOf<{ advance?: number }>(req);
    if (typeof advance !== "number" || !Number.isFinite(advance))
      throw invalid("advance must be a number of seconds.");
    res.json(control.advanceClock(advance));
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
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw invalid("The body must be a JSON object.");
  return body as Body;
}
