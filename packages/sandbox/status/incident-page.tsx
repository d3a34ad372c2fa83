import { Layout } from "../pages/layout.tsx";
import { Moment } from "../pages/market/parts.tsx";
import type { IncidentShape } from "./incident-shape.ts";

/** The page at an incident's `full_url`. */
export function IncidentPage({ incident }: { incident: IncidentShape }) {
  const state = incident.state.replaceAll("_", " ");
  const systems = incident.systems.map(({ name, status }) => `${name} ${status}`).join(", ");
  return (
    <Layout title={incident.title} isNarrow>
      <hgroup>
        <h1>{incident.title}</h1>
        <p>{[state, systems].filter(Boolean).join(": ")}</p>
      </hgroup>
      {incident.updates.map((update) => (
        <article class="update" key={update.id}>
          <h2>{update.title}</h2>
          <p>{update.contents}</p>
          <small>
            <Moment at={update.created_at} />
          </small>
        </article>
      ))}
    </Layout>
  );
}
