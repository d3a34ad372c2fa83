import { Bars, Card, Cards, ConfigVars, Facts, PlanCard, Sparkline, StateOf } from "../parts/cards.tsx";
import { csv } from "../parts/csv.ts";
import type { CustomerDownloads, CustomerPage, CustomerPages } from "../people/contract.ts";
import { offer } from "./plans.ts";
import { endOfTrial } from "./trial.ts";
import type { Usage } from "./usage.ts";

const DAY = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "long",
  year: "numeric",
  timeZone: "UTC",
});

const Trial = ({ until }: { until: Date | null }) =>
  until && (
    <p>
      Your trial ends on <time dateTime={until.toISOString()}>{DAY.format(until)}</time>.
    </p>
  );

/** What links may lead to: a name with a dot is a download. */
export type Place = "usage" | "usage.csv";

export const createCustomerPage =
  (usage: Usage): CustomerPage<typeof offer, "move", Place> =>
  async (resource, page) => ({
    title: resource.name ?? "Your queue",
    content: (
      <Cards>
        <PlanCard offer={offer} resource={resource} dashboard={page.dashboard} />
        <Card title="Queue">
          {resource.progress !== null && <p class="told busy">{resource.progress}</p>}
          {resource.suspended === null && <Trial until={endOfTrial(resource.plan, resource.createdAt)} />}
          <Facts
            of={[
              ["State", <StateOf resource={resource} />],
              ["Region", resource.region ?? "any"],
            ]}
          />
        </Card>
        <Card title="Messages">
          <Sparkline title="Messages a day" values={await usage.ofLastDays(resource.uuid)} empty="" />
          <p>{await usage.ofMonth(resource.uuid)} messages in the last 30 days</p>
          <p class="foot">{page.link("usage", "Day by day")}</p>
        </Card>
        <Card title="Its address">
          <ConfigVars of={resource.configVars} />
          <p>A move takes a minute, and changes {resource.configVars.PIGEON_URL.name}.</p>
          {page.form("move", <button>Move it to another host</button>)}
        </Card>
      </Cards>
    ),
  });

/** The menu has them beside the page above. */
export const createPages = (usage: Usage): CustomerPages<typeof offer, "move", Place> => ({
  usage: {
    title: "Usage",
    async render({ uuid }, page) {
      return (
        <Card title="The last 30 days">
          <Bars
            title="Messages"
            of="Day"
            values={await usage.ofLastDays(uuid)}
            empty="Nothing is metered yet."
          />
          <p class="foot">{page.link("usage.csv", "Download all days as CSV")}</p>
        </Card>
      );
    },
  },
});

export const createDownloads = (usage: Usage): CustomerDownloads<typeof offer, Place> => ({
  "usage.csv": {
    async content({ uuid }) {
      const days = await usage.of(uuid);
      return csv(
        ["Day", "Messages"],
        days.map(({ day, messages }) => [day, messages]),
      );
    },
  },
});
