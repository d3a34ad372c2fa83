import { createHash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { deprovisioned, gone, installed, probe, ready } from "../probes.ts";
import { applies, Broken, holds, needs, type RuleGroup } from "../rule.ts";
import { assumed } from "../sections.ts";
import type { Stage } from "../stage/stage.ts";
import type { Reply } from "../stage/wire.ts";

const section = assumed(6);
const STALE_SECONDS = 6 * 60;
const AHEAD_SECONDS = 5 * 60;

const digest = (algorithm: "sha1" | "sha256", ...parts: string[]) =>
  createHash(algorithm).update(parts.join(":")).digest("hex");

interface Customer {
  uuid: string;
  /** Seconds from now. */
  offset?: number;
  salt?: string;
  email?: string;
}

function saltOf({ settings }: Stage): string {
  applies(settings.ssoSalt, "no sign-on salt was given.", "SSO_SALT");
  return settings.ssoSalt;
}

/** A form signed as the platform signs it. Each names another user, so that none is a replay. */
function signed(
  stage: Stage,
  { uuid, offset = 0, salt = saltOf(stage), email }: Customer,
): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000) + offset);
  const userId = randomUUID();
  const address = email ?? `${userId.slice(0, 8)}@example.com`;
  return {
    resource_id: uuid,
    timestamp,
    resource_token: digest("sha1", uuid, salt, timestamp),
    user_scoped_resource_token: digest("sha256", uuid, salt, timestamp, userId, address),
    user_id: userId,
    email: address,
    app: "an-app",
    context_app: "an-app",
  };
}

const isIn = ({ status, headers }: Reply) =>
  (status === 302 || status === 303) && headers.location !== undefined;

function refused(reply: Reply, what: string): void {
  holds(reply.status === 403, `${what} was answered with ${reply.status}; 403 was due.`);
}

/** A resource for one rule only: two forms for the same resource in the same second have the same resource_token. */
const aResource = (stage: Stage) => (saltOf(stage), installed(stage));

const signedOn = probe(async (stage) => {
  const resource = await aResource(stage);
  const form = signed(stage, resource);
  return { resource, reply: await stage.service.signOn(form) };
});

/** A customer who signed on to a resource that has tokens and is ready, and the page that the redirects led to. */
const visited = probe(async (stage) => {
  saltOf(stage);
  // A page may need tokens, and a resource that is ready.
  const resource = await ready(stage);
  const reply = await stage.service.signOn(signed(stage, resource));
  const landing = isIn(reply) ? await follow(stage, reply) : null;
  return { resource, reply, landing };
});

const MANY_REDIRECTS = 10;
const NOT_THERE = [404, 405, 410];

/**
 * Follows redirects, with a browser's cookies or without any. Null if they lead to another host: a vendor's pages may
 * be on another host than the one the platform calls, and no third party may be called.
 */
async function follow(stage: Stage, from: Reply, keepsCookies = true): Promise<Reply | null> {
  let reply = from;
  let address = new URL(stage.settings.url.replace(/\/+$/, "") + stage.settings.ssoPath);
  const { origin } = address;
  const cookies = new Map<string, string>();
  for (let left = MANY_REDIRECTS; left > 0; left--) {
    for (const cookie of keepsCookies ? (reply.headers["set-cookie"] ?? []) : []) {
      const [, name, value] = /^\s*([^=;]+)=([^;]*)/.exec(cookie) ?? [];
      if (value) cookies.set(name!, value);
      else if (name !== undefined) cookies.delete(name);
    }
    const { location } = reply.headers;
    if (reply.status < 300 || reply.status >= 400 || location === undefined) return reply;
    holds(URL.canParse(location, address.href), "The Location of a redirect is no address.");
    address = new URL(location, address);
    if (address.origin !== origin) return null;
    reply = await stage.service.visit(address, cookies);
  }
  throw new Broken(`After ${MANY_REDIRECTS} redirects there was still no page.`);
}

/** Throws NotJudged unless a right form gets in: a refusal proves nothing where all forms are refused. */
async function worksAtAll(stage: Stage): Promise<void> {
  saltOf(stage);
  const { reply } = await signedOn(stage);
  needs(isIn(reply), "a customer has to get in first.", "SSO-01");
}

/** Throws Broken unless the changed form is refused. */
async function mustNot(
  stage: Stage,
  what: string,
  change: (form: Record<string, string>) => Record<string, string>,
  customer: Partial<Customer> = {},
) {
  await worksAtAll(stage);
  const resource = await aResource(stage);
  refused(await stage.service.signOn(change(signed(stage, { ...resource, ...customer }))), what);
}

/** A token with right digits before `at`, and wrong ones from there on. */
const otherFrom = (at: number, token: string) =>
  token.slice(0, at) + token.slice(at).replace(/./g, (digit) => (digit === "0" ? "1" : "0"));

const same = (form: Record<string, string>) => form;
const without =
  (...names: string[]) =>
  (form: Record<string, string>) =>
    Object.fromEntries(Object.entries(form).filter(([name]) => !names.includes(name)));

export const signOn: RuleGroup = {
  title: "Sign-on of a customer",
  rules: [
    {
      id: "SSO-01",
      title: "A signed form lets a customer in, with a redirect to the resource's page",
      section,
      severity: "must",
      mend: "Check the token, open a session, answer 303. No Basic credentials come with it. The page has to open with the cookies that were set.",
      isPatient: true,
      async check(stage) {
        saltOf(stage);
        const { reply } = await signedOn(stage);
        const { status } = reply;
        holds(isIn(reply), `It was answered with ${status}; 303 was due. (Is SSO_SALT the service's salt?)`);
        const { landing } = await visited(stage);
        // In production another server may serve a page that does not exist here, so SSO-11 judges that.
        const isShut = landing && landing.status >= 400 && !NOT_THERE.includes(landing.status);
        holds(!isShut, `The page that it leads to was answered with ${landing?.status}.`);
      },
    },
    {
      id: "SSO-02",
      title: "A wrong token is refused with 403",
      section,
      severity: "must",
      mend: "Compare both tokens with your own, in constant time.",
      async check(stage) {
        await mustNot(stage, "A form signed with another salt", same, { salt: "another-salt" });
        for (const [what, right] of Object.entries({
          "first 8 characters": 8,
          "all characters but the last": -1,
        }))
          await mustNot(stage, `A form of whose tokens the ${what} are right`, (form) => ({
            ...form,
            resource_token: otherFrom(right, form["resource_token"]!),
            user_scoped_resource_token: otherFrom(right, form["user_scoped_resource_token"]!),
          }));
      },
    },
    {
      id: "SSO-03",
      title: "The user-scoped token counts where there is one",
      section,
      severity: "must",
      mend: "Check user_scoped_resource_token when it is sent: the other one signs neither user nor e-mail.",
      follows: ["SSO-02"],
      check: (stage) =>
        mustNot(stage, "A form with another e-mail than the signed one", (form) => ({
          ...form,
          email: "thief@example.com",
        })),
    },
    {
      id: "SSO-04",
      title: "A form older than 5 minutes is refused with 403",
      section,
      severity: "must",
      mend: "Compare timestamp with the time.",
      check: (stage) =>
        mustNot(stage, `A form of ${STALE_SECONDS / 60} minutes ago`, same, { offset: -STALE_SECONDS }),
    },
    {
      id: "SSO-05",
      title: "A form from the future is refused with 403",
      section,
      severity: "must",
      mend: "Allow a minute for clocks that differ, no more.",
      follows: ["SSO-04"],
      check: (stage) =>
        mustNot(stage, `A form of ${AHEAD_SECONDS / 60} minutes ahead`, same, { offset: AHEAD_SECONDS }),
    },
    {
      id: "SSO-06",
      title: "A form that comes a second time is refused with 403",
      section,
      severity: "must",
      mend: "Remember the tokens of the last six minutes.",
      async check(stage) {
        await worksAtAll(stage);
        const form = signed(stage, await aResource(stage));
        needs(isIn(await stage.service.signOn(form)), "a customer has to get in first.", "SSO-01");
        refused(await stage.service.signOn(form), "The same form");
      },
    },
    {
      id: "SSO-07",
      title: "A token of one resource opens no other",
      section,
      severity: "must",
      mend: "Compute the token from the resource_id of the form.",
      follows: ["SSO-02"],
      async check(stage) {
        await worksAtAll(stage);
        const [one, other] = [await aResource(stage), await aResource(stage)];
        refused(
          await stage.service.signOn({ ...signed(stage, one), resource_id: other.uuid }),
          "A token of another resource",
        );
      },
    },
    {
      id: "SSO-08",
      title: "A form without tokens, or without a timestamp, is refused with a 4xx",
      section,
      severity: "must",
      mend: "Take what is absent for wrong.",
      follows: ["SSO-02"],
      async check(stage) {
        await worksAtAll(stage);
        const resource = await aResource(stage);
        for (const names of [
          ["resource_token", "user_scoped_resource_token"],
          ["timestamp"],
          ["resource_id"],
        ]) {
          const { status } = await stage.service.signOn(without(...names)(signed(stage, resource)));
          holds(
            status >= 400 && status < 500,
            `A form without ${names.join(" and ")} was answered with ${status}.`,
          );
        }
      },
    },
    {
      id: "SSO-09",
      title: "Nobody gets into a resource that never was, or is gone",
      section,
      severity: "must",
      mend: "Look the resource up after the token; answer 403 or 404.",
      async check(stage) {
        await worksAtAll(stage);
        const unknown = await stage.service.signOn(signed(stage, { uuid: randomUUID() }));
        holds(
          unknown.status >= 400 && unknown.status < 500,
          `An unknown resource was answered with ${unknown.status}.`,
        );
        const { resource } = await gone(stage);
        const { status } = await stage.service.signOn(signed(stage, resource));
        holds(status >= 400 && status < 500, `A deprovisioned resource was answered with ${status}.`);
      },
    },
    {
      id: "SSO-10",
      title: "The session's cookie is out of reach of scripts",
      section,
      severity: "should",
      mend: "Set HttpOnly on it, and SameSite; Secure where you are reached by https.",
      async check(stage) {
        await worksAtAll(stage);
        const cookies = (await signedOn(stage)).reply.headers["set-cookie"] ?? [];
        applies(cookies.length > 0, "no cookie was set.");
        holds(
          cookies.every((cookie) => /;\s*HttpOnly/i.test(cookie)),
          "A cookie was set without HttpOnly.",
        );
      },
    },
    {
      id: "SSO-11",
      title: "The resource's page is there, and only for who signed on",
      section,
      severity: "should",
      mend: "Lead to a page that exists, and let it ask for the session: who knows a resource's uuid is not its owner.",
      isPatient: true,
      async check(stage) {
        await worksAtAll(stage);
        const { resource, reply, landing } = await visited(stage);
        applies(landing, "the redirect leads to another host.");
        holds(!NOT_THERE.includes(landing.status), `The page was answered with ${landing.status}.`);
        needs(landing.status < 300, "the page has to open to who signed on first.", "SSO-01");
        // A page that shows nothing of the resource but its own address may be filled in by a script that asks for the
        // session.
        if (!landing.text.replaceAll(reply.headers.location!, "").includes(resource.uuid)) return;
        // An address that differs between two sign-ons contains a ticket. One second later, because the same form in
        // the same second would be a replay.
        await sleep(1_100);
        const again = await stage.service.signOn(signed(stage, resource));
        if (again.headers.location !== reply.headers.location) return;
        const stranger = await follow(stage, reply, false);
        const isSame = stranger?.status === landing.status && stranger.text === landing.text;
        holds(!isSame, "Without a cookie the page is the same, and shows the resource.");
      },
    },
    {
      id: "SSO-12",
      title: "The resource's page closes with the resource",
      section,
      severity: "should",
      mend: "Look the resource up at each page, not at the sign-on alone, or end its sessions when it goes.",
      isPatient: true,
      follows: ["SSO-09", "SSO-11"],
      async check(stage) {
        await worksAtAll(stage);
        const resource = await ready(stage);
        const reply = await stage.service.signOn(signed(stage, resource));
        needs(isIn(reply), "a customer has to get in first.", "SSO-01");
        const landing = await follow(stage, reply);
        applies(landing, "the redirect leads to another host.");
        // The same page as before the end shows too much only if it shows the resource: see SSO-11.
        const shown = landing.text.replaceAll(reply.headers.location!, "").includes(resource.uuid);
        await deprovisioned(stage, resource);
        const after = await follow(stage, reply);
        const isOpen = after !== null && after.status < 300 && after.text === landing.text;
        holds(
          !(isOpen && shown),
          "Who had signed on before the deprovision is still shown the resource's page after it.",
        );
      },
    },
  ],
};
