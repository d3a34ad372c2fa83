/** The placeholder for an id, a name or an address in a path. */
const ANY = ":id";

/**
 * The platform's paths that the service calls. Any other is `other`: the number of label values must not grow with the
 * number of customers.
 */
const PATHS = `
  /oauth/token /oauth/authorizations /oauth/authorizations/:id /account
  /vendor/resources/:id/oauth-grant
  /addons /addons/:id /addons/:id/config /addons/:id/addon-attachments
  /addons/:id/log-drains /addons/:id/log-drains/:id /addons/:id/actions/provision /addons/:id/actions/deprovision
  /users/:id/addons /users/:id/apps
  /apps /apps/:id /apps/:id/addons /apps/:id/addon-attachments /apps/:id/addon-attachments/:id
  /apps/:id/collaborators /apps/:id/domains /apps/:id/log-drains /apps/:id/log-drains/:id
  /apps/:id/pipeline-couplings /filters/apps
  /pipelines /pipelines/:id /pipelines/:id/pipeline-couplings /pipeline-couplings /pipeline-couplings/:id
  /teams/:id/members
  /api/v4/current-status /api/v4/incidents /api/v4/incidents/:id`
  .trim()
  .split(/\s+/)
  .map((path) => path.split("/"));

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** The endpoint of a call, such as `GET /addons/:id/config`. The platform's base URL may have a path of its own. */
export function endpointOf(method: string, url: URL | string): string {
  const segments = new URL(url).pathname.split("/");
  const path = PATHS.filter((known) => endsLike(segments, known)).sort(
    (a, b) => literals(b) - literals(a),
  )[0];
  return path && METHODS.includes(method) ? `${method} ${path.join("/")}` : "other";
}

function endsLike(segments: readonly string[], known: readonly string[]): boolean {
  const start = segments.length - known.length + 1;
  if (start < 1) return false;
  return known.slice(1).every((word, index) => word === ANY || word === segments[start + index]);
}

/** The number of literal segments: of two templates that match, the one with more is used. */
function literals(path: readonly string[]): number {
  return path.filter((word) => word !== ANY).length;
}
