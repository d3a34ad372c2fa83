import { readFileSync } from "node:fs";
import { aWorldOfPeople } from "../people/people.ts";
import { kitPages } from "../support/kit-pages.ts";
import { basic } from "../support/partner-calls.ts";
import { opened } from "../support/world.ts";

const PASSWORD = "a-password-of-the-operator";
const root = new URL("../../", import.meta.url);
/** One page is about the platform's own routes. */
const pages = kitPages.filter((page) => page !== "docs/platform-coverage.md");

/** Paths of the service that a page names between backticks, without those of the sandbox. */
const ROUTE =
  /`(?:GET |POST )?(\/(?:operator|oauth|sso|customer|metrics|healthz|readyz|resources)\b[^`\s]*)`/g;
const named = pages
  .flatMap((page) =>
    [...readFileSync(new URL(page, root), "utf8").matchAll(ROUTE)].map(([, path]) => [page, path!]),
  )
  .filter(([, path]) => !path!.includes("…") && !path!.includes("*")) as [string, string][];

let uuid: string;
const people = opened(() =>
  aWorldOfPeople({
    sandbox: { ssoSalt: "a-salt-of-the-sign-on" },
    environment: { OPERATOR_PASSWORD: PASSWORD, SSO_SALT: "a-salt-of-the-sign-on" },
  }),
);
beforeAll(async () => {
  uuid = (await people.control.install({ plan: "basic" })).addon.id;
  await people.world.quiet([uuid]);
});

it.each(named)("%s names an existing route: %s", async (_, path) => {
  const { addonId, addonPassword } = people.world.sandbox.settings;
  const isPlatforms = path.startsWith("/resources");
  const authorization = isPlatforms ? basic(addonId, addonPassword) : basic("operator", PASSWORD);
  const address = people.url() + path.replace(/UUID|:uuid/, uuid);
  const answer = await fetch(address, { headers: { authorization }, redirect: "manual" });
  // 405: it takes another method. 403: nobody is signed on.
  expect([path, answer.status]).not.toEqual([path, 404]);
});
