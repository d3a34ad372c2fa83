import { BUSINESS_STATES, CREDENTIAL_STATES, type ResourceRecord } from "../../resource-record.ts";
import { MOST_FOUND, type ResourcePage } from "../../resources.ts";
import { planInWords } from "../../wording.ts";
import type { Page } from "../../../pages/pages.tsx";
import { Moment } from "../moments.tsx";
import { State } from "../state.tsx";

/** What the operator searches for. */
export interface Search {
  text?: string | undefined;
  state?: string | undefined;
  after?: string | undefined;
}

export function listPage(
  search: Search,
  { resources, next, isCut = false }: ResourcePage,
  root: string,
): Page {
  return {
    title: "Resources",
    content: (
      <>
        <search>
          <SearchForm search={search} action={`${root}/resources`} />
        </search>
        {isCut && (
          <p>
            More than {MOST_FOUND.toLocaleString("en-GB")} begin like this, and no more than that were looked
            through. Type more of the word.
          </p>
        )}
        {resources.length === 0 ? (
          <p>{nothing(search, isCut)}</p>
        ) : (
          <Table resources={resources} root={root} />
        )}
        <nav aria-label="Pages of the list">
          <ul>
            {search.after !== undefined && (
              <li>
                <a href={addressOf(root, { ...search, after: undefined })}>To the newest</a>
              </li>
            )}
            {next !== null && (
              <li>
                <a href={addressOf(root, { ...search, after: next })} rel="next">
                  Older ones
                </a>
              </li>
            )}
          </ul>
        </nav>
      </>
    ),
  };
}

function SearchForm({ search: { text, state }, action }: { search: Search; action: string }) {
  return (
    <form class="search" method="get" action={action}>
      <label>
        Uuid, name or app begins with, or plan, region or app id is
        <input type="search" name="text" value={text} maxLength={100} />
      </label>
      <label>
        State
        <select name="state">
          <option value="">any</option>
          {[...BUSINESS_STATES, ...CREDENTIAL_STATES].map((each) => (
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

function Table({ resources, root }: { resources: readonly ResourceRecord[]; root: string }) {
  return (
    <table class="stacked">
      <thead>
        <tr>
          <th scope="col">Resource</th>
          <th scope="col">App</th>
          <th scope="col">Plan</th>
          <th scope="col">State</th>
          <th scope="col">Credential</th>
          <th scope="col">Made</th>
        </tr>
      </thead>
      <tbody>
        {resources.map(({ uuid, name, app, plan, state, credential, createdAt }) => (
          <tr>
            <td data-label="Resource">
              <span>
                <a href={`${root}/resources/${uuid}`}>{name ?? uuid}</a>
                {name !== null && <small> {uuid}</small>}
              </span>
            </td>
            <td data-label="App">{app?.name ?? "–"}</td>
            <td data-label="Plan">{planInWords(plan)}</td>
            <td data-label="State">
              <State of={state} />
            </td>
            <td data-label="Credential">
              <State of={credential.state} />
            </td>
            <td data-label="Made">
              <Moment at={createdAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function nothing({ text, state, after }: Search, isCut: boolean): string {
  if (isCut) return "None among those that were looked through.";
  if (after !== undefined) return "There are no older ones.";
  if (text === undefined && state === undefined) return "There are no resources yet.";
  return "No resource is like this. Names are looked for as they begin, in the case they are written in.";
}

function addressOf(root: string, search: Search): string {
  const members = Object.entries(search).filter(([, value]) => value !== undefined);
  return `${root}/resources?${new URLSearchParams(Object.fromEntries(members) as Record<string, string>).toString()}`;
}
