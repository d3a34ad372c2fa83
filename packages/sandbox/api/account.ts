import { Router } from "express";
import type { Platform } from "../platform.ts";
import { accountShape } from "../shapes/account.ts";
import { answer } from "./answer.ts";
import { userOf } from "./caller.ts";

/** `GET /account`: the account of the token's user (assumed, section 7). */
export function accountEndpoints(_platform: Platform): Router {
  const router = Router();
  router.get("/account", (_req, res) => {
    const account = accountShape(userOf(res).user);
    answer(res, account, { createdAt: Date.parse(account.updated_at) });
  });
  return router;
}
