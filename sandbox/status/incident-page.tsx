import { Layout } from "../pages/layout.tsx";
import type { IncidentShape } from "./incident-shape.ts";

/** What a person reads at an incident's `full_url`. */
export function IncidentPage({ incident }: { incident: IncidentShape }) {
  return (
    <Layout title={incident.title}>
      <h1>{incident.title}</h1>
      <p>
        {incident.state.replaceAll("_", " ")} ·{" "}
        {incident.systems.map(({ name, status }) => `${name}: ${status}`).join(", ")}
      </p>
      {incident.updates.map((update) => (
        <article key={update.id}>
          <h2>{update.title}</h2>
          <p>{update.contents}</p>
          <small>
            <time dateTime={update.created_at}>{update.created_at}</time>
          </small>
        </article>
      ))}
    </Layout>
  );
}
