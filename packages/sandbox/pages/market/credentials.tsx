import type { AddonState } from "../../control/state.ts";
import { Facts, Moment, Section, State } from "./parts.tsx";

/** The credentials of an add-on: of its grant and tokens only the states. */
export function Credentials({ addon }: { addon: AddonState }) {
  const token = addon.tokens.at(-1);
  return (
    <Section title="Grant and tokens" id="credentials" isLive>
      <Facts
        of={[
          addon.grant
            ? [
                "grant",
                <>
                  <State of={addon.grant.state} /> <Until {...addon.grant} />
                </>,
              ]
            : ["grant", "none was issued"],
          token
            ? [
                "access token",
                <>
                  <State of={token.state} /> <Until {...token} />
                </>,
              ]
            : ["access token", "none: the grant was not exchanged yet"],
          addon.refresh_token && [
            "refresh token",
            <>
              <State of={addon.refresh_token.state} />
              {addon.refresh_token.state === "valid" && " valid as long as the add-on exists"}
            </>,
          ],
        ]}
      />
    </Section>
  );
}

/** How long a grant or a token is valid, or was. */
function Until({ state, expires_at: at }: { state: string; expires_at: string }) {
  if (state === "exchanged") return <>and cannot be used again</>;
  if (state === "invalid" || state === "revoked") return <>before it expired</>;
  return (
    <>
      {state === "expired" ? "since" : "valid until"} <Moment at={at} />
    </>
  );
}
