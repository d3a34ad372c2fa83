import type { Page } from "../pages/pages.tsx";
import type { CustomerSession } from "./customer-sessions.ts";

/** The vendor's page, followed by the e-mail address of the customer and the button for signing out. */
export function framed({ content, ...page }: Page, { email, resource }: CustomerSession, base: string): Page {
  return {
    ...page,
    content: (
      <>
        {content}
        <hr />
        {email !== null && (
          <p>
            You are signed on as <strong>{email}</strong>.
          </p>
        )}
        <form method="post" action={`${base}/customer/${resource.uuid}/sign-out`}>
          <button type="submit">Sign out</button>
        </form>
      </>
    ),
  };
}

export const SIGNED_OUT: Page = {
  title: "You are signed out",
  content: <p>To come back, open the add-on from the platform's dashboard.</p>,
};
