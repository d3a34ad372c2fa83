import type { RequestHandler } from "express";
import type { Pages } from "../../../pages/pages.tsx";
import { isFromOurPage } from "../../../people/same-site.ts";
import type { SignIn } from "../../../people/sign-in.ts";
import { MOUNT } from "../frame.tsx";
import { operatorProblem } from "../problems.ts";

/** Signs out any person who is signed in, operator or not. They stay signed in at the platform. */
export function signOut({ signIn, pages }: { signIn: SignIn; pages: Pages }): RequestHandler {
  return async (request, response) => {
    if (!isFromOurPage(request, pages.addressOf)) throw operatorProblem("not_from_our_page");
    await signIn.signOut(request, response);
    response
      .status(303)
      .set("Location", pages.addressOf(request).base + MOUNT)
      .end();
  };
}
