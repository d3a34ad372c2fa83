import type { Action } from "./action.ts";

/** What can be done here, as links to where it is confirmed; `root` is the address that their names stand below. */
export function ActionLinks({
  actions,
  root,
}: {
  actions: readonly Pick<Action, "name" | "label">[];
  root: string;
}) {
  return (
    <ul class="actions">
      {actions.map(({ name, label }) => (
        <li>
          <a role="button" href={`${root}/${name}`}>
            {label}
          </a>
        </li>
      ))}
    </ul>
  );
}
