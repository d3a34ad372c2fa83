import { DatabaseUnavailable } from "../../src/database/database.ts";
import { aWorld, eventually, opened } from "../support/world.ts";
import { operator, PASSWORD } from "./operator.ts";

const away = () => Promise.reject(new DatabaseUnavailable("the database is away"));
let isAway = false;
/** A statement that takes too long. */
let slow = "";
const world = opened(() =>
  aWorld({
    environment: { OPERATOR_PASSWORD: PASSWORD, WEB_JOBS: "off" },
    parts: {
      wrapDatabase: (db) => ({
        ...db,
        ping: () => (isAway ? away() : db.ping()),
        query: (...asked) => (isAway || asked[0].name === slow ? away() : db.query(...asked)),
      }),
    },
  }),
);

const refused = `addon_http_request_duration_seconds_count{method="POST",route="/resources",status="401"}`;
const samples = () => operator(world).samples();
const isUp = (value: number) =>
  eventually(async () => expect((await samples()).get("addon_database_up")).toBe(value));

const turnedAway = async () =>
  expect((await fetch(`${world.service.url}/resources`, { method: "POST" })).status).toBe(401);
const areTold = (count: number) => eventually(async () => expect((await samples()).get(refused)).toBe(count));

it("while the database is away, GET /metrics reports it, keeps what needs no database, and lowers no counter", async () => {
  await turnedAway();
  await areTold(1);
  isAway = true;
  await isUp(0);
  const left = await samples();
  expect(left.get("process_resident_memory_bytes")).toBeGreaterThan(0);
  expect([...left.keys()].filter((name) => name.startsWith("addon_provisions_total"))).toEqual([]);
});

it("counts from the outage are reported once after it", async () => {
  await turnedAway();
  isAway = false;
  await areTold(2);
  await world.restart();
  await turnedAway();
  await areTold(3);
});

it("a part that takes too long to read is missing alone", async () => {
  slow = "metrics_credentials";
  await eventually(async () =>
    expect((await samples()).get(`addon_credentials{state="active"}`)).toBeUndefined(),
  );
  const left = await samples();
  expect([left.get("addon_database_up"), left.get(`addon_due{queue="grants"}`)]).toEqual([1, 0]);
  expect(left.get(refused)).toBe(3);
});
