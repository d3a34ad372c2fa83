import { neededKeys, resealAll } from "../../keys.ts";
import { countKeyUse } from "../../../resources/keys.ts";
import type { Action } from "./action.ts";

export const reseal: Action = {
  name: "reseal",
  label: "Re-seal everything",
  async ask({ db, vault }) {
    const uses = await countKeyUse(db);
    const others = uses.filter(({ keyId }) => keyId !== vault.keyId);
    return {
      title: "Re-seal everything?",
      content: (
        <>
          <p>
            Every sealed value is sealed anew with <code>ENCRYPTION_KEY</code> (<code>{vault.keyId}</code>),
            so that older keys can be dropped. It can be stopped and begun again at any time.
          </p>
          <ul>
            {uses.map(({ keyId, rows }) => (
              <li>
                <code>{keyId}</code> seals {rows} {rows === 1 ? "row" : "rows"}
                {keyId === vault.keyId && ": this is ENCRYPTION_KEY"}
              </li>
            ))}
          </ul>
          {others.length === 0 && <p>No other key is in use: there is nothing to do.</p>}
        </>
      ),
      button: "Re-seal",
    };
  },
  work:
    ({ db, vault }) =>
    async (how) => {
      const { report, unopened } = await resealAll({ db, vault, ...how });
      const needed = neededKeys(report, vault);
      const end = needed ?? "No other key is in use: drop the old ones in 12 hours.";
      const left = unopened.count > 0 ? [`${unopened.count} do not open:`, ...unopened.messages] : [];
      const message = [`${report.resealed} resealed. ${end}`, ...left].join("\n");
      return { isDone: unopened.count === 0 && needed === null, message };
    },
};
