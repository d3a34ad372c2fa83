import { createHmac, randomBytes } from "node:crypto";
import { parse } from "cookie";
import type { Request, Response } from "express";
import type { UserRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";

/**
 * Cookies are shared by all ports of a host, so the name must differ from those of a service under test on the same
 * host.
 */
const COOKIE = "platform_session";

/** The person at a browser, as the authorize page knows them. */
export interface Session {
  user: UserRecord | null;
  /** Part of every form; only a page of the sandbox that was shown to this browser contains it. */
  formToken: string;
  signIn(user: UserRecord): void;
  signOut(): void;
}

/** Reads a browser's session from its cookie. Every sign-in gets a new id, which prevents session fixation. */
export function createSessions(world: World) {
  const key = randomBytes(32);
  return function sessionOf(req: Request, res: Response): Session {
    let id = parse(req.headers.cookie ?? "")[COOKIE];
    const start = () => {
      id = randomBytes(24).toString("hex");
      res.cookie(COOKIE, id, { httpOnly: true, sameSite: "lax", path: "/oauth" });
      return id;
    };
    const current = id ?? start();
    const known = world.sessions.get(current);
    const end = () => void (known && world.sessions.remove(known));
    return {
      user: (known && world.users.get(known.userId)) ?? null,
      formToken: createHmac("sha256", key).update(current).digest("hex"),
      signIn(user) {
        end();
        world.sessions.add({ id: start(), userId: user.id });
        user.lastSignInAt = world.clock.now();
      },
      signOut: end,
    };
  };
}
