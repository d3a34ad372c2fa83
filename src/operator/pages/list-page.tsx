import type { Page } from "../../pages/pages.tsx";
import { SORT_NAMES } from "../list-store.ts";
import { FAILING, type ResourcePage, type Search, shownOf, STATES } from "../resource-list.ts";
import { planInWords } from "../wording.ts";
import { A, Filters, Moment, Options, Pager, Select, State, Table } from "./parts.tsx";

/** The parameters of the list's address; `text` is the search. */
export const LIST_QUERY = ["text", "state", "failing", "error", "plan", "app", "sort", "after"] as const;
export const LIST_SIZE = 25;

/** `plans`: those on offer. */
export function listPage(
  { after, sort, ...search }: Omit<Search, "suspended">,
  page: ResourcePage,
  plans: readonly string[],
): Page {
  const { text, state, failing, error, plan, app } = search;
  return {
    title: "Resources",
    content: (
      <>
        <search>
          <form class="search" method="get">
            <label class="long">
              Part of a uuid, name, app or e-mail
              <input type="search" name="text" value={text} maxLength={200} />
            </label>
            <Select name="state" label="State" of={STATES} value={state} />
            <Select name="plan" label="Plan" of={plans} value={plan} />
            <Select name="failing" label="Failing call" of={FAILING} value={failing} />
            <label>
              Sort by
              <select name="sort">
                <Options of={SORT_NAMES} value={sort ?? "since"} />
              </select>
            </label>
            {error && <input type="hidden" name="error" value={error} />}
            {app && <input type="hidden" name="app" value={app} />}
            <button type="submit">Search</button>
          </form>
        </search>
        <Filters path="/resources" of={search} />
        <p role="status">{shownOf(page)}</p>
        <Table
          columns={[
            ["Resource", named],
            ["App", ({ app }) => <bdi>{app?.name ?? "–"}</bdi>],
            ["Plan", ({ plan }) => planInWords(plan)],
            [
              "State",
              ({ state, suspended }) => [
                <State of={state} />,
                suspended && [<br />, <State of="suspended" look="wait" />],
              ],
            ],
            ["Credential", ({ credential }) => <State of={credential.state} />],
            ["Since", ({ createdAt }) => <Moment at={createdAt} />],
          ]}
          rows={page.resources}
        />
        <Pager path="/resources" query={{ ...search, sort }} after={after} next={page.next} />
      </>
    ),
  };
}

export const named = ({ uuid, name }: { uuid: string; name: string | null }) => (
  <span>
    <A to={`/resources/${uuid}`}>
      <bdi>{name ?? uuid}</bdi>
    </A>
    {name !== null && <small> {uuid}</small>}
  </span>
);
