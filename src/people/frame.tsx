import type { Request, RequestHandler } from "express";
import type { ComponentChildren } from "preact";
import type { Context } from "../context.ts";
import { visible } from "../marks.ts";
import { addressOf } from "../pages/address.ts";
import type { Around } from "../pages/pages.tsx";
import { State, type Tone } from "../parts/cards.tsx";
import type { Suspended } from "../resources/contract.ts";
import { orNullAfter, sharedFor } from "../within.ts";
import type { BrandOfPages } from "./brand.ts";
import { type CurrentNotice, currentNotice, type Severity } from "./notice.ts";
import { Menu } from "./places.tsx";
import type { Visit } from "./visit.ts";

/** A notice, and its end, are seen this much later; strangers' requests make no more queries. */
const NOTICE_MS = 1_000;

/** From now on the pages of this answer are in the frame of the customers' pages: brand, notice, the ways back and out. */
export function customerFrame(ctx: Context): RequestHandler {
  const noticeNow = sharedFor(NOTICE_MS, () => currentNotice(ctx.db));
  return async (_request, response, next) => {
    // A page without it is better than none.
    const notice = await orNullAfter(2 * NOTICE_MS, noticeNow()).catch(() => null);
    response.locals["frame"] = (request: Request) => {
      const visit = response.locals["visit"] as Visit | undefined;
      return frameOf(ctx, request, {
        notice,
        visit,
        person: visit && <SignedOn visit={visit} at={placeOf(ctx, request)} />,
      });
    };
    next();
  };
}

interface Framed {
  notice: CurrentNotice | null;
  visit: Visit | undefined;
  /** In the corner of the header: who is signed on, and the way out. */
  person: ComponentChildren;
  /** Above everything. */
  banner?: ComponentChildren;
}

const placeOf = (ctx: Context, request: Request) => `${addressOf(ctx, request).base}/customer`;

export function frameOf(ctx: Context, request: Request, { notice, visit, person, banner }: Framed): Around {
  const { base } = addressOf(ctx, request);
  const { brand } = ctx;
  const back = wayBack(ctx, visit?.resource.appName ?? null);
  return {
    look: "customer",
    style: base + brand.stylesheet.name,
    brand: <Brand of={brand} />,
    navigation: (
      <>
        {back !== null && (
          <a class="way-back" href={back}>
            Back to the dashboard
          </a>
        )}
        {person}
      </>
    ),
    above: (
      <>
        {banner}
        {notice && <Notice of={notice} />}
        {visit?.resource.suspended && <Suspension of={visit.resource.suspended} />}
        {visit && <Menu ctx={ctx} visit={visit} base={base} />}
      </>
    ),
    footer: <Foot brand={brand} uuid={visit?.resource.uuid} />,
  };
}

/** The address of the platform's dashboard, at the app if that is known; null if the settings name none. */
export function wayBack(
  { config: { dashboardUrl } }: Pick<Context, "config">,
  app: string | null,
): string | null {
  if (dashboardUrl === undefined) return null;
  if (app !== null) return dashboardUrl.replaceAll("{app}", encodeURIComponent(app));
  return dashboardUrl.includes("{app}") ? new URL(dashboardUrl).origin : dashboardUrl;
}

function Brand({ of: { name, logo } }: { of: BrandOfPages }) {
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <span class="brand">
        {logo && (
          <picture>
            {logo.dark !== logo.light && <source media="(prefers-color-scheme: dark)" srcset={logo.dark} />}
            <img src={logo.light} alt="" />
          </picture>
        )}
        <strong>{name}</strong>
      </span>
    </>
  );
}

function SignedOn({ visit: { resource, person }, at }: { visit: Visit; at: string }) {
  return (
    <form class="signed-on" method="post" action={`${at}/${resource.uuid}/sign-out`}>
      {person.email !== null && (
        <span>
          You are signed on as{" "}
          <strong>
            <bdi>{visible(person.email)}</bdi>
          </strong>
        </span>
      )}
      <button type="submit">Sign out</button>
    </form>
  );
}

const TITLES: Readonly<Record<Severity, [Tone, string]>> = {
  info: ["gone", "Notice"],
  warning: ["busy", "Warning"],
  outage: ["bad", "Outage"],
};

const MINUTE = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "long",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  timeZone: "UTC",
  timeZoneName: "short",
});

/** The reason is written out here too, as the vendor's page around it may keep its marks. */
function Suspension({ of: { since, reason } }: { of: Suspended }) {
  return (
    <aside class="warning" aria-label="The add-on is suspended">
      <p>
        <State tone="busy">Suspended</State> <bdi>{visible(reason)}</bdi>
        <small>
          Since <time dateTime={since.toISOString()}>{MINUTE.format(since)}</time>
        </small>
      </p>
    </aside>
  );
}

/** Its text is written out here too, as the vendor's page around it may keep its marks. */
export function Notice({ of: { text, severity, until } }: { of: CurrentNotice }) {
  const [tone, title] = TITLES[severity];
  return (
    <aside class={severity} aria-label="A notice of this service">
      <p>
        <State tone={tone}>{title}</State> <bdi>{visible(text)}</bdi>
        {until !== null && (
          <small>
            Until <time dateTime={until.toISOString()}>{MINUTE.format(until)}</time>
          </small>
        )}
      </p>
    </aside>
  );
}

function Foot({ brand: { links }, uuid }: { brand: BrandOfPages; uuid: string | undefined }) {
  return (
    <>
      {links.length > 0 && (
        <nav aria-label="About this service">
          {links.map(({ label, href }) => (
            <a href={href}>{label}</a>
          ))}
        </nav>
      )}
      {uuid !== undefined && (
        <p>
          If you ask for help, name this add-on: <code>{uuid}</code>
        </p>
      )}
    </>
  );
}
