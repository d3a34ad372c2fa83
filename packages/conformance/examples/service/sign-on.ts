import { createHash, randomBytes } from "node:crypto";
import type { Answer, Request } from "./types.ts";

const digest = (algorithm: "sha1" | "sha256", ...parts: string[]) =>
  createHash(algorithm).update(parts.join(":")).digest("hex");

export type Form = Record<string, string>;

/** The checks of a customer's form; each returns whether the form is right. */
export const goodSignOnHabits = {
  isResourceToken: ({ resource_id = "", timestamp = "", resource_token }: Form, salt: string) =>
    resource_token === digest("sha1", resource_id, salt, timestamp),
  isUserToken(
    { resource_id = "", timestamp = "", user_id = "", email = "", user_scoped_resource_token }: Form,
    salt: string,
  ) {
    return user_scoped_resource_token === digest("sha256", resource_id, salt, timestamp, user_id, email);
  },
  isOld: (timestamp: number) => Date.now() / 1000 - timestamp > 300,
  isAhead: (timestamp: number) => timestamp - Date.now() / 1000 > 60,
  refusesReplays: true,
  opensWhatIsGone: false,
  welcome: (uuid: string, session: string): Answer => ({
    status: 303,
    headers: { location: `/customer/${uuid}`, "set-cookie": `session=${session}; HttpOnly; SameSite=Lax` },
  }),
  showsWhatIsGone: false,
  /**
   * Whether the page of a resource is shown to a browser that signed on to `signedOnTo`; undefined: it signed on to
   * none.
   */
  shows: (uuid: string, signedOnTo: string | undefined) => uuid === signedOnTo,
  page: (uuid: string): Answer => ({ status: 200, page: `<h1>Your example ${uuid}</h1>` }),
};

const forbidden: Answer = {
  status: 403,
  body: { id: "forbidden", message: "This sign-on is not valid." },
};

/** Signs on customers who come from the platform's dashboard, and shows them the resource's page. */
export function createSignOn(salt: string, habits: typeof goodSignOnHabits, has: (uuid: string) => boolean) {
  const seen = new Set<string>();
  /** The resource that each session is for. */
  const sessions = new Map<string, string>();

  function show({ path, headers }: Request): Answer {
    const [, session = ""] = /(?:^|; )session=(\w+)/.exec(headers.cookie ?? "") ?? [];
    const uuid = path.split("?", 1)[0]!.slice("/customer/".length);
    return (has(uuid) || habits.showsWhatIsGone) && habits.shows(uuid, sessions.get(session))
      ? habits.page(uuid)
      : forbidden;
  }

  function enter(form: Form): Answer {
    const timestamp = Number(form["timestamp"] ?? Number.NaN);
    const isSigned = form["user_scoped_resource_token"]
      ? habits.isUserToken(form, salt)
      : habits.isResourceToken(form, salt);
    const isReplay =
      habits.refusesReplays && seen.has(form["user_scoped_resource_token"] ?? form["resource_token"] ?? "");
    const isThere = habits.opensWhatIsGone || has(form["resource_id"] ?? "");
    const isInTime = !Number.isNaN(timestamp) && !habits.isOld(timestamp) && !habits.isAhead(timestamp);
    if (!isSigned || isReplay || !isThere || !isInTime) return forbidden;
    seen.add(form["user_scoped_resource_token"] ?? form["resource_token"]!);
    const session = randomBytes(16).toString("hex");
    sessions.set(session, form["resource_id"]!);
    return habits.welcome(form["resource_id"]!, session);
  }

  return { enter, show };
}
