import { createHmac, randomBytes } from "node:crypto";
import { parse } from "cookie";
import type { Request, Response } from "express";
import type { UserRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";

/** Cookies are shared by all ports of a host; a service under test on the same host must not meet this one. */
const COOKIE = "platform_session";

/** Who sits at a browser, as far as the authorize page knows. */
export interface Session {
  user: UserRecord | null;
  /** Stands in every form: only a page of ours, shown to this browser, knows it. */
  formToken: string;
  signIn(user: UserRecord): void;
  signOut(): void;
}

/** Reads a browser's session from its cookie. A new id on every sign-in, so that none can be planted before it. */
export function createSessions(world: World) {
  const key = randomBytes(32);
  return function sessionOf(req: Request, res: Response): Session {
    let id = parse(req.headers.cookie ?? "")[COOKIE];
    const start = () => {
      id = randomBytes(24).toString("hex");
      res.cookie(COOKIE, id, { httpOnly: true, sameSite: "lax", path: "/oauth", secure: req.secure });
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
