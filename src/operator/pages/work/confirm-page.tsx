import type { Page } from "../../../pages/pages.tsx";
import type { Question } from "../actions/action.ts";

/** The page that asks for confirmation. Nothing is done before its button is pressed. */
export function confirmPage(
  { title, content, button }: Question,
  { action, back, token }: { action: string; back: string; token: string },
): Page {
  return {
    title,
    content: (
      <form class="ask" method="post" action={action}>
        {content}
        <input type="hidden" name="token" value={token} />
        <div class="row">
          {button !== null && <button type="submit">{button}</button>}
          <a href={back}>{button === null ? "Back" : "Leave it as it is"}</a>
        </div>
      </form>
    ),
  };
}
