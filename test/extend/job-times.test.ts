import { jest } from "@jest/globals";
import { lastTime, nextTime } from "../../src/extend/job-times.ts";

// When jobs run. In Berlin the clocks go from 2:00 to 3:00 on 28 March 2027, and from 3:00 back to 2:00 on 25 October 2026.

const BERLIN = "Europe/Berlin";

describe("the next times of a job", () => {
  it.each<[what: string, at: string, timeZone: string | undefined, from: string, times: string[]]>([
    ["in UTC unless a zone is given", "0 3 * * *", undefined, "2027-03-27T12:00", ["28T03:00", "29T03:00"]],
    ["in winter and summer", "0 3 * * *", BERLIN, "2027-03-26T12:00", ["27T02:00", "28T01:00", "29T01:00"]],
    ["a skipped time is an hour later", "30 2 * * *", BERLIN, "2027-03-27T12:00", ["28T01:30", "29T00:30"]],
    [
      "a skipped time may be another of its times",
      "0 2-4 * * *",
      BERLIN,
      "2027-03-27T12:00",
      ["28T01:00", "28T02:00", "29T00:00"],
    ],
    [
      "a time that comes twice is the first",
      "30 2 * * *",
      BERLIN,
      "2026-10-24T12:00",
      ["25T00:30", "26T01:30"],
    ],
    ["from between the two", "30 2 * * *", BERLIN, "2026-10-25T00:45", ["26T01:30"]],
    ["each hour, when one is skipped", "0 * * * *", BERLIN, "2027-03-28T00:00", ["28T01:00", "28T02:00"]],
    [
      "each hour, when one comes twice",
      "0 * * * *",
      BERLIN,
      "2026-10-24T23:30",
      ["25T00:00", "25T01:00", "25T02:00"],
    ],
    [
      "each half hour then",
      "*/30 * * * *",
      BERLIN,
      "2026-10-25T00:00",
      ["25T00:30", "25T01:00", "25T01:30", "25T02:00"],
    ],
    [
      "half an hour forward",
      "15 2 * * *",
      "Australia/Lord_Howe",
      "2026-10-03T00:00",
      ["03T15:45", "04T15:15"],
    ],
    ["forward at midnight", "30 0 * * *", "Africa/Cairo", "2027-04-29T12:00", ["29T22:30", "30T21:30"]],
    ["back at midnight", "30 23 * * *", "Africa/Cairo", "2026-10-29T12:00", ["29T20:30", "30T21:30"]],
    ["a quarter before the hour", "0 6 * * *", "Asia/Kathmandu", "2027-01-01T12:00", ["02T00:15"]],
    ["the last day of the month", "0 0 L * *", undefined, "2027-02-01T00:00", ["28T00:00", "31T00:00"]],
    ["the second Tuesday", "0 0 * * 2#2", BERLIN, "2027-02-01T00:00", ["08T23:00", "08T23:00"]],
    ["the working day at the 15th", "0 9 15W * *", undefined, "2027-05-01T00:00", ["14T09:00", "15T09:00"]],
    ["each second", "* * * * * *", BERLIN, "2026-10-25T00:59:58.500", ["25T00:59:59", "25T01:00"]],
    ["hours in any order", "0 23,1 * * *", undefined, "2027-01-01T12:00", ["01T23:00", "02T01:00"]],
    ["in a leap year", "0 0 29 2 *", undefined, "2096-03-01T00:00", ["29T00:00"]],
  ])("%s", (_what, at, timeZone, from, times) => {
    const found: Date[] = [];
    for (const _ of times) found.push(nextTime({ at, timeZone }, found.at(-1) ?? new Date(`${from}Z`)));
    expect(
      found.map((time) =>
        time
          .toISOString()
          .slice(8)
          .replace(/(:00)?\.000Z/, ""),
      ),
    ).toEqual(times);
    // Looking back from each, and from just before the next one, it is the last one.
    const justBefore = found.slice(1).map((time) => new Date(time.getTime() - 1));
    expect(found.map((time) => lastTime({ at, timeZone }, time))).toEqual(found);
    expect(justBefore.map((time) => lastTime({ at, timeZone }, time))).toEqual(found.slice(0, -1));
  });

  it.each(["0 0 30 2 *", "0 0 31W 2 *", "0 0 31 4,6,9,11 *", "at three", ""])(
    "are none of %j, and that is found in one walk through the days of 41 years",
    (at) => {
      const days = jest.spyOn(Date.prototype, "getUTCMonth");
      expect(() => nextTime({ at, timeZone: BERLIN }, new Date())).toThrow();
      expect(days.mock.calls.length).toBeLessThan(2 * 41 * 366);
      days.mockRestore();
    },
  );
});
