import supertest, { type Response } from "supertest";
import type { World } from "./world.ts";

/** How a call made by hand differs from one of the platform. */
interface Unusual {
  /** Null leaves out a header that is usually sent. */
  headers?: Record<string, string | null>;
}

/** A string or bytes are sent unchanged, anything else as JSON. */
export type Body = unknown;

/** The platform's three calls made by hand, to send what the sandbox never would. */
export function partnerCalls(world: Pick<World, "sandbox"> & { service: Pick<World["service"], "url"> }) {
  const { addonId, addonPassword } = world.sandbox.settings;
  const usual = { authorization: basic(addonId, addonPassword), "content-type": "application/json" };

  function send(
    method: string,
    path: string,
    body?: Body,
    { headers = {} }: Unusual = {},
  ): Promise<Response> {
    const call = supertest(world.service.url!)
      [method as "post"](path)
      .redirects(0)
      .ok(() => true);
    for (const [name, value] of Object.entries({ ...usual, ...headers }))
      if (value !== null) void call.set(name, value);
    if (body !== undefined) void call.serialize(asIs).send(asIs(body) as string);
    return Promise.resolve(call);
  }

  return {
    send,
    provision: (body: Body, unusual?: Unusual) => send("post", "/resources", body, unusual),
    changePlan: (uuid: string, body: Body, unusual?: Unusual) =>
      send("put", `/resources/${uuid}`, body, unusual),
    deprovision: (uuid: string, unusual?: Unusual) =>
      send("delete", `/resources/${uuid}`, undefined, unusual),
  };
}

export type PartnerCalls = ReturnType<typeof partnerCalls>;

export function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}

function asIs(body: unknown): string {
  return typeof body === "string" || Buffer.isBuffer(body) ? (body as string) : JSON.stringify(body);
}
