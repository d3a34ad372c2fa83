import type { Page } from "../../pages/pages.tsx";
import { STATES, type ResourcePage, type Search } from "../resources.ts";
import { planInWords } from "../wording.ts";
import { A, Links, Moment, State, Table } from "./parts.tsx";

const NOT_FOUND =
  "No resource is like this. Names are looked for as they begin, in the case they are written in.";

export function listPage(search: Search, { resources, next }: ResourcePage): Page {
  const isSearch = search.text !== undefined || search.state !== undefined;
  return {
    title: "Resources",
    content: (
      <>
        <search>
          <SearchForm search={search} />
        </search>
        <Table
          columns={[
            ["Resource", named],
            ["App", ({ app }) => app?.name ?? "–"],
            ["Plan", ({ plan }) => planInWords(plan)],
            ["State", ({ state }) => <State of={state} />],
            ["Credential", ({ credential }) => <State of={credential.state} />],
            ["Made", ({ createdAt }) => <Moment at={createdAt} />],
          ]}
          rows={resources}
          empty={isSearch ? NOT_FOUND : "There are no resources here."}
        />
        <Links
          of={[
            { label: "To the newest", path: search.after === undefined ? null : pathOf(search, null) },
            { label: "Older ones", path: next === null ? null : pathOf(search, next) },
          ]}
        />
      </>
    ),
  };
}

const named = ({ uuid, name }: { uuid: string; name: string | null }) => (
  <span>
    <A to={`/resources/${uuid}`}>{name ?? uuid}</A>
    {name !== null && <small> {uuid}</small>}
  </span>
);

function pathOf({ text, state }: Search, after: string | null): string {
  const members = Object.entries({ text, state, after }).filter(([, value]) => value);
  return `/resources?${new URLSearchParams(members as [string, string][])}`;
}

function SearchForm({ search: { text, state } }: { search: Search }) {
  return (
    <form class="search" method="get">
      <label>
        Uuid, name or app begins with, or plan, region or app id is
        <input type="search" name="text" value={text} maxLength={100} />
      </label>
      <label>
        State
        <select name="state">
          <option value="">any</option>
          {STATES.map((each) => (
            <option value={each} selected={each === state}>
              {each}
            </option>
          ))}
        </select>
      </label>
      <button type="submit">Search</button>
    </form>
  );
}
