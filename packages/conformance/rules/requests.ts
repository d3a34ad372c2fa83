import { randomUUID } from "node:crypto";
import {
  exchangeOf,
  firstReply,
  isExchange,
  isRefusal,
  isSuccess,
  plain,
  plainAnswer,
  plainExchange,
  probe,
  shown,
} from "../probes.ts";
import { Broken, Discouraged, holds, needs, type Rule, type RuleGroup } from "../rule.ts";
import { assumed, platform, rfc } from "../sections.ts";
import { aProvision } from "../stage/service-calls.ts";
import type { Resource, Stage } from "../stage/stage.ts";
import { membersIn, NoAnswer, type Outgoing } from "../stage/wire.ts";

const section = assumed(1);
const LARGE_BODY_BYTES = 5 * 1024 * 1024;
/** The ends of a timestamp, each with the offset of its zone in hours: as the platform's document has them, and others. */
const ZONES = { "+0000": 0, "-0800": -8 };
const OTHER_ZONES = { "+00:00": 0, Z: 0 };

/** A provision whose request was altered on its way. Throws Broken unless it is accepted. */
export async function accepted(
  stage: Stage,
  alter: (request: Outgoing) => unknown,
  what: string,
): Promise<Resource> {
  await plainAnswer(stage);
  let left = 1;
  const resource = await stage.install({ alter: (request) => void (left-- > 0 && alter(request)) });
  const reply = firstReply(resource);
  holds(isSuccess(reply), `${what} was answered with ${shown(reply)}.`);
  return resource;
}

/** Sends grants with these `expires_at`. Throws Broken unless each is accepted and exchanged. */
async function taken(stage: Stage, ends: Record<string, string>): Promise<void> {
  const resources: [string, Resource][] = [];
  for (const [what, expiresAt] of Object.entries(ends))
    resources.push([what, await accepted(stage, grantThatEnds(expiresAt), what)]);
  await plainExchange(stage);
  for (const [what, resource] of resources) {
    const call = await exchangeOf(stage, resource);
    holds(call, `${what} was accepted, and its grant never exchanged.`);
  }
}

/** Whether a grant is exchanged that ends in Z: who exchanges it and no plain one cannot read the document's form. */
export const exchangesOtherEnds = probe(async (stage) => {
  const [end] = Object.values(endsIn({ Z: 0 }));
  const resource = await accepted(stage, grantThatEnds(end!), "Z").catch(() => null);
  const isOther = resource !== null && (await exchangeOf(stage, resource)) !== null;
  return isOther && !stage.callsOf(await plain(stage)).some(isExchange);
});

function asAdvice(error: unknown): never {
  if (!(error instanceof Broken)) throw error;
  throw new Discouraged(`${error.message} (The document has it without a colon.)`);
}

/** Ends of grants in five minutes, in these zones. */
function endsIn(zones: Record<string, number>): Record<string, string> {
  const ends = Object.entries(zones).map(([zone, hours]) => {
    const there = new Date(Date.now() + 300_000 + hours * 3_600_000).toISOString().slice(0, 19);
    return [`An expires_at that ends in ${zone}`, there + zone] as const;
  });
  return Object.fromEntries(ends);
}

/** Changes members of a request's body; undefined removes one. */
const members = (change: Record<string, unknown>) => (request: Outgoing) => {
  request.body = JSON.stringify({ ...membersIn(String(request.body)), ...change });
};

const headers = (change: Record<string, string>) => (request: Outgoing) => {
  Object.assign(request.headers, change);
};

/** Throws Broken unless each of these invalid bodies is refused with a 4xx; no answer and a 5xx are wrong. */
async function refused(stage: Stage, bodies: Record<string, unknown>): Promise<void> {
  // Where every provision is refused, a refusal says nothing.
  await plainAnswer(stage);
  const { service } = stage;
  for (const [what, body] of Object.entries(bodies)) {
    const reply = await service.send({ method: "POST", body }).catch((error: Error) => error);
    if (reply instanceof Error)
      throw new Broken(`${what} was not answered: ${reply.message}. A 4xx was due.`);
    holds(
      isRefusal(reply) && reply.status !== 401,
      `${what} was answered with ${reply.status}; a 4xx was due.`,
    );
  }
}

const rule = (
  id: string,
  severity: Rule["severity"],
  title: string,
  mend: string,
  check: (stage: Stage) => Promise<unknown>,
  where = section,
): Rule => ({ id, title, section: where, severity, mend, check });

export const requests: RuleGroup = {
  title: "Provision: the request",
  rules: [
    rule(
      "REQ-01",
      "must",
      "Members that nobody knows are ignored",
      "Read the members you use by name and leave the others alone.",
      (stage) =>
        accepted(stage, members({ from_tomorrow: { a: [1] }, version: 4 }), "A request with two new members"),
      platform("Provision request received by an add-on partner", "Further fields of the provision request"),
    ),
    rule(
      "REQ-02",
      "must",
      "Options that nobody knows are no reason to refuse",
      "Keep what you do not know, or drop it; a refusal costs a sale.",
      (stage) =>
        accepted(
          stage,
          members({ options: { no_such_option: "true", size: 7 } }),
          "A request with unknown options",
        ),
    ),
    rule(
      "REQ-03",
      "must",
      "Only uuid and plan are needed",
      "Treat every other member as one that can be absent.",
      (stage) =>
        accepted(
          stage,
          members({ name: undefined, region: undefined, options: undefined, callback_url: undefined }),
          "A request without name, region, options and callback_url",
        ),
    ),
    rule(
      "REQ-04",
      "should",
      "A request without a grant is accepted",
      "Provision it all the same; the platform can give a grant later.",
      async (stage) => {
        await accepted(stage, members({ oauth_grant: null }), "A request whose oauth_grant is null");
        await accepted(stage, members({ oauth_grant: undefined }), "A request without oauth_grant");
      },
    ),
    {
      ...rule(
        "REQ-05",
        "must",
        "The end of a grant is read with and without a colon in the offset",
        "Read +hhmm, -hhmm, +hh:mm and Z; parsers of ISO 8601 often know only some of them.",
        async (stage) => {
          await plainExchange(stage).catch(async (error: unknown) => {
            const isOther = await exchangesOtherEnds(stage);
            holds(!isOther, "A grant that ends in Z was exchanged, and none that ends in +0000.");
            throw error;
          });
          await taken(stage, endsIn(ZONES));
          await taken(stage, endsIn(OTHER_ZONES)).catch(asAdvice);
        },
        platform("OAuth grant (partner)", "Timestamp with numeric UTC offset and no colon in the offset"),
      ),
      isPatient: true,
    },
    {
      ...rule(
        "REQ-06",
        "should",
        "An end of a grant that cannot be read costs neither the sale nor the grant",
        "Take five minutes from now where expires_at makes no sense.",
        (stage) => taken(stage, { "An expires_at that is no time": "soon" }),
      ),
      isPatient: true,
    },
    rule(
      "REQ-07",
      "must",
      "No Accept header is refused",
      "Ignore Accept: the platform's media type on these calls may change. Never answer 406.",
      async (stage) => {
        for (const accept of ["application/vnd.svc-addons+json; version=4", "*/*", "text/html"])
          await accepted(stage, headers({ accept }), `A request with Accept: ${accept}`);
        await accepted(stage, (request) => delete request.headers["accept"], "A request without Accept");
      },
    ),
    rule(
      "REQ-08",
      "must",
      "Every JSON media type is read as JSON",
      "Parse application/json and every application/…+json, with or without a charset.",
      async (stage) => {
        for (const type of ["application/vnd.svc-addons+json; version=3", "application/json; charset=utf-8"])
          await accepted(stage, headers({ "content-type": type }), `A body of the type ${type}`);
      },
    ),
    rule(
      "REQ-09",
      "must",
      "Text in any script is accepted",
      "Read and store UTF-8.",
      (stage) =>
        accepted(
          stage,
          members({ name: "Ünïcode-日本-🫖", options: { note: "наклейка" } }),
          "A name in other scripts",
        ),
      rfc(8259, "8.1"),
    ),
    rule(
      "REQ-10",
      "should",
      "20 kB of options are no reason to refuse",
      "Let a body be at least 32 kB long.",
      (stage) => accepted(stage, members({ options: { note: "x".repeat(20_000) } }), "A request of 20 kB"),
    ),
    rule(
      "REQ-11",
      "must",
      "A body that is no JSON object is refused with a 4xx",
      "Catch what the JSON parser throws, and check that an object came out of it.",
      (stage) =>
        refused(stage, { "Broken JSON": '{"uuid": ', "An array": "[]", null: "null", "A text": '"uuid"' }),
    ),
    rule(
      "REQ-12",
      "must",
      "A request without uuid or without plan is refused with a 4xx",
      "Check both before anything is made.",
      (stage) =>
        refused(stage, {
          "A request without a uuid": aProvision(stage.settings, { uuid: undefined }),
          "A request whose uuid is a number": aProvision(stage.settings, { uuid: 7 }),
          "A request without a plan": aProvision(stage.settings, { plan: undefined }),
          "A request whose plan is an object": aProvision(stage.settings, { plan: {} }),
        }),
    ),
    rule(
      "REQ-13",
      "should",
      "What is no UUID is refused as one",
      "Check the form of the uuid: it ends up in paths and in queries.",
      async (stage) => {
        await refused(stage, {
          "A path instead of a uuid": aProvision(stage.settings, { uuid: "../../admin" }),
        });
        // Who needs no uuid at all does not need this one either.
        const body = aProvision(stage.settings, { uuid: undefined });
        const without = await stage.service.send({ method: "POST", body });
        needs(!isSuccess(without), "a request without a uuid has to be refused first.", "REQ-12");
        await refused(stage, { "An empty uuid": aProvision(stage.settings, { uuid: "" }) });
      },
    ),
    {
      ...rule(
        "REQ-14",
        "must",
        "Text that no database keeps does not make the service fail",
        "Refuse NUL and broken Unicode with 422, or drop them; no answer may be a 5xx.",
        async (stage) => {
          await plainAnswer(stage);
          for (const name of ["nul\u0000nul", "\ud800 alone"]) {
            const body = aProvision(stage.settings, { name, options: { name } });
            const reply = await stage.service.send({ method: "POST", body });
            if (reply.status < 300)
              await stage.service.send({ method: "DELETE", below: `/${String(body["uuid"])}` });
            holds(reply.status < 500, `${JSON.stringify(name)} as a name was answered with ${reply.status}.`);
            const below = `/${(await plain(stage)).uuid}`;
            const change = await stage.service.send({ method: "PUT", below, body: { plan: name } });
            holds(
              change.status < 500,
              `${JSON.stringify(name)} as a new plan was answered with ${change.status}.`,
            );
          }
        },
      ),
      follows: ["PLAN-04"],
    },
    rule(
      "REQ-15",
      "should",
      "A body of 5 MB is refused, and the service goes on",
      "Limit bodies (64 kB are plenty) and answer 413, or close the connection.",
      async (stage) => {
        await plainAnswer(stage);
        const body = aProvision(stage.settings, { options: { note: "x".repeat(LARGE_BODY_BYTES) } });
        const reply = await stage.service.send({ method: "POST", body }).catch(hungUp);
        if (reply && reply.status < 300)
          await stage.service.send({ method: "DELETE", below: `/${String(body["uuid"])}` });
        holds(!reply || isRefusal(reply), `5 MB were answered with ${shown(reply)}; 413 was due.`);
        await stage.service
          .send({ method: "DELETE", below: `/${randomUUID()}` })
          .catch(({ message }: Error) => {
            throw new Broken(`After 5 MB a usual call was not answered: ${message}`);
          });
      },
    ),
  ],
};

/** A service may close the connection in the middle of a large body, but it must not keep the sender waiting. */
function hungUp(error: unknown): null {
  if (!(error instanceof NoAnswer)) throw error;
  needs(error.isSent || !error.isTimeout, "5 MB could not be sent in time: the way to the service is slow.");
  holds(!error.isTimeout, `5 MB were neither answered nor refused. ${error.message}`);
  return null;
}

function grantThatEnds(expiresAt: string) {
  return (request: Outgoing) => {
    const { oauth_grant: grant } = membersIn(String(request.body));
    members({ oauth_grant: { ...(grant as object), expires_at: expiresAt } })(request);
  };
}
