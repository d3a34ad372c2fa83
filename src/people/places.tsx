import type { Request } from "express";
import type { ComponentChildren, VNode } from "preact";
import type { Context } from "../context.ts";
import type { CustomerDownload, CustomerPerson, CustomerSubPage, PageQuery } from "./contract.ts";
import type { Place, Visit } from "./visit.ts";

// The pages and files of a customer: their names, their addresses, and the links to them.

const OVERVIEW = "overview";

const MOST_PARAMETERS = 20;
const LONGEST_NAME = 60;
const LONGEST_VALUE = 500;
/** By which the kit finds what came of a form. */
const SENT = "sent";

/** The parameters of an address, within the bounds of {@link PageQuery}. */
export function queryIn(search: string): PageQuery {
  const isFit = ([name, value]: readonly [string, string]) =>
    name !== SENT &&
    name.length <= LONGEST_NAME &&
    value.length <= LONGEST_VALUE &&
    !/\p{Cc}/u.test(name + value);
  const fit = [...new URLSearchParams(search)].filter(isFit).slice(0, MOST_PARAMETERS);
  // Without a prototype, or a name of its members would be found without having been sent. The first of a name wins.
  return Object.freeze(Object.assign(Object.create(null) as object, Object.fromEntries(fit.reverse())));
}

/** The parameters in the address of a request. */
export const queryOf = ({ originalUrl }: Request): PageQuery =>
  queryIn(originalUrl.split(/\?(.*)/s)[1] ?? "");

/** The path of a page behind the service's address. `sent`: the form whose result it shows. */
export function pathOf({ at, place: { page, query } }: Pick<Visit, "at" | "place">, sent?: string): string {
  const path = page === null ? at : `${at}/pages/${page}`;
  return path + searchOf({ ...query, [SENT]: sent });
}

/** The path of an action's form, which leads back to the page it was sent from. */
export function pathOfAction({ at, place: { page, query } }: Visit, name: string): string {
  const from = searchOf(query).slice(1);
  return `${at}/actions/${name}${searchOf({ page: page ?? "", query: from })}`;
}

/** The page from which a form was sent. One that there is not any more is that of `customerPage`. */
export function placeBefore(ctx: Context, request: Request): Place {
  const { page = null, query } = request.query;
  return {
    page: pageNamed(ctx, String(page)) ? String(page) : null,
    query: queryIn(typeof query === "string" ? query : ""),
  };
}

function searchOf(query: PageQuery): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return given.length > 0 ? `?${new URLSearchParams(given)}` : "";
}

function named<Of>(all: Readonly<Record<string, Of>> | undefined, name: string): Of | null {
  return all && Object.hasOwn(all, name) ? all[name]! : null;
}

export const pageNamed = ({ vendor }: Context, name: string): CustomerSubPage | null =>
  named(vendor.pages, name);
export const downloadNamed = ({ vendor }: Context, name: string): CustomerDownload | null =>
  named(vendor.downloads, name);

/** Whether any page, file or action is for some people alone: then the platform is asked who they are. */
export function asksForRoles({ vendor: { actions, pages = {}, downloads = {} } }: Context): boolean {
  const forSome = [...Object.values(pages), ...Object.values(downloads)];
  return actions !== undefined || forSome.some(({ may }) => may !== undefined);
}

/** A page or file whose `may` throws is for nobody. */
export function maySee(
  { log }: Context,
  name: string,
  place: CustomerSubPage | CustomerDownload,
  person: CustomerPerson,
): boolean {
  try {
    return place.may?.(person) ?? true;
  } catch (error) {
    log.error({ place: name, error }, "The may() of a page or download failed; the person does not get it");
    return false;
  }
}

/** Makes the links on the vendor's page; see `CustomerTools`. */
export function linksOf(ctx: Context, visit: Visit, base: string) {
  return (to: string, content: ComponentChildren, query: Readonly<Record<string, string>> = {}) => {
    const { at, session, resource, person } = visit;
    if (to === OVERVIEW) return <a href={base + pathOf({ at, place: { page: null, query } })}>{content}</a>;
    const download = downloadNamed(ctx, to);
    const place = pageNamed(ctx, to) ?? download;
    if (!place) {
      const words = `The page has a link to "${to}", which is none of the service's pages and downloads.`;
      ctx.log.error(
        { uuid: resource.uuid, error: new Error(words) },
        "A link is left out of a customer's page",
      );
      return null;
    }
    if (!maySee(ctx, to, place, person)) return null;
    if (!download) return <a href={base + pathOf({ at, place: { page: to, query } })}>{content}</a>;
    // An operator who looks at the page gets none of the customer's files.
    if (session === null) return <span>{content}</span>;
    return (
      <a href={`${base}${at}/downloads/${to}${searchOf(query)}`} download={to}>
        {content}
      </a>
    );
  };
}

/** The pages of a resource, with the current one marked; null where there is but one. */
export function Menu({ ctx, visit, base }: { ctx: Context; visit: Visit; base: string }): VNode | null {
  const { at, place, person } = visit;
  const listed = Object.entries(ctx.vendor.pages ?? {}).filter(
    ([name, page]) => !page.isUnlisted && maySee(ctx, name, page, person),
  );
  if (listed.length === 0) return null;
  const entries = [[null, "Overview"] as const, ...listed.map(([name, { title }]) => [name, title] as const)];
  return (
    <nav class="pages" aria-label="Pages of this add-on">
      <ul>
        {entries.map(([page, title]) => (
          <li>
            <a
              href={base + pathOf({ at, place: { page, query: {} } })}
              aria-current={page === place.page ? "page" : undefined}
            >
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
