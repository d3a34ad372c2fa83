import { setSecret, waitUntilFresh } from "../../client-secret.ts";
import { triedSecret } from "../../secret-check.ts";
import { typedClientSecret } from "../../typed-secret.ts";
import type { Action } from "./action.ts";

export const setClientSecret: Action = {
  name: "secret",
  label: "Set the client secret",
  ask: () => ({
    title: "Set a new client secret?",
    content: (
      <>
        <p>
          The platform is asked first whether it accepts it; if it does not, or cannot be asked, nothing is
          changed. Every token that an older secret issued is then refreshed, which is followed here.
        </p>
        <label>
          The secret that the platform's partner portal shows
          <input type="password" name="secret" required autocomplete="off" spellcheck={false} />
        </label>
      </>
    ),
    button: "Set it",
  }),
  work({ db, vault, credentials, config }, _uuid, form) {
    const value = typedClientSecret(form["secret"]?.[0] ?? "");
    return async (how) => {
      const needs = { db, vault, credentials, known: config.clientSecret };
      const begun = await setSecret(needs, value, (secret) => triedSecret(config.platformAuthUrl, secret));
      const { version, due, fresh, unconfirmed } = await waitUntilFresh({ db, credentials, ...how }, begun);
      const doubt = unconfirmed ? ` Whether the platform accepts it is not known: ${unconfirmed}.` : "";
      const left = due > fresh ? ` ${due - fresh} have no working refresh token.` : "";
      return {
        isDone: true,
        message: `The client secret is version ${version} now.${doubt} ${fresh} of ${due} tokens refreshed.${left}`,
      };
    };
  },
};
