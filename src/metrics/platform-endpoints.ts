/** The placeholder for an id, a name or an address in a path. */
const ANY = ":id";

/** A path and its segments. */
interface KnownPath {
  path: string;
  words: readonly string[];
}

/**
 * The platform's paths that the service calls, those with the most literal segments first: of two that match, the first
 * is used. Any other is `other`: the number of label values must not grow with the number of customers.
 */
const PATHS: readonly KnownPath[] = `
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
  .map((path) => ({ path, words: path.split("/").slice(1) }))
  .sort((a, b) => literals(b) - literals(a));

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** The endpoint of a call, such as `GET /addons/:id/config`. The platform's base URL may have a path of its own. */
export function endpointOf(method: string, url: URL | string): string {
  const { pathname } = typeof url === "string" ? new URL(url) : url;
  const segments = pathname.split("/");
  const known = PATHS.find(({ words }) => endsLike(segments, words));
  return known && METHODS.includes(method) ? `${method} ${known.path}` : "other";
}

function endsLike(segments: readonly string[], words: readonly string[]): boolean {
  const start = segments.length - words.length;
  return start > 0 && words.every((word, index) => word === ANY || word === segments[start + index]);
}

function literals({ words }: KnownPath): number {
  return words.filter((word) => word !== ANY).length;
}
