import type { Action } from "./action.ts";

/** The actions as links to their confirmation pages; `root` is the address below which their names stand. */
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
