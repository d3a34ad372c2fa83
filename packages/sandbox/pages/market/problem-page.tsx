import { HOME } from "./addresses.ts";
import type { ShowPage } from "./page.ts";

/** The page for something that does not exist or is not allowed. */
export function problemPage(message: string): ShowPage {
  return () => ({
    title: "Error",
    part: "apps",
    content: (
      <>
        <h1>That did not work</h1>
        <p class="lead">{message}</p>
        <p>
          <a href={HOME}>Back to the apps</a>
        </p>
      </>
    ),
  });
}
