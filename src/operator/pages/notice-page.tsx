import { currentNotice, SEVERITIES } from "../../people/notice.ts";
import { clearNotice, LONGEST_NOTICE, noticeInWords, readNotice, setNotice } from "../notices.ts";
import type { Action } from "./action.ts";

/** The notice to all customers: what they see now, and the form of another one. */
const set: Action = {
  name: "notice",
  hasInput: true,
  label: "Show a notice to all customers",
  async ask({ db }) {
    const now = await currentNotice(db);
    return (
      <>
        {(now ? noticeInWords(now) : "Customers see no notice now.").split("\n").map((line) => (
          <p>{line}</p>
        ))}
        <label>
          Text
          <textarea name="text" rows={3} maxLength={LONGEST_NOTICE} required />
        </label>
        <label>
          Until (UTC); empty: until somebody takes it away
          <input type="datetime-local" name="until" />
        </label>
        <label>
          Severity
          <select name="severity">
            {SEVERITIES.map((each) => (
              <option>{each}</option>
            ))}
          </select>
        </label>
      </>
    );
  },
  work(ctx, _uuid, form, operator) {
    const [text, severity, until] = ["text", "severity", "until"].map(
      (name) => form.get(name)?.trim() || undefined,
    );
    // The field of a browser has no zone; its label says which one is meant.
    const inUtc = until && /T[\d:.]+$/.test(until) ? `${until}Z` : until;
    const wanted = readNotice({ text: text ?? "", ...(severity && { severity }), until: inUtc });
    return async () => ({
      isDone: true,
      message: noticeInWords(await setNotice(ctx.db, wanted, operator.name)),
    });
  },
};

const clear: Action = {
  name: "notice-clear",
  label: "Take the notice away",
  async whyNot({ db }) {
    return (await currentNotice(db)) ? null : "Customers see no notice now.";
  },
  async ask({ db }) {
    const now = await currentNotice(db);
    return (
      now &&
      noticeInWords(now)
        .split("\n")
        .map((line) => <p>{line}</p>)
    );
  },
  work: (ctx) => async () => ({
    isDone: true,
    message: (await clearNotice(ctx.db)) ? "The notice was taken away." : "Customers saw no notice.",
  }),
};

export const NOTICE: readonly Action[] = [set, clear];
