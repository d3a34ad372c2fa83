/** The mount paths of the kit's routers, except the one for the platform's calls (`RESOURCES_PATH`). */
export const ROUTER_PATHS = ["/metrics", "/oauth", "/sso", "/customer", "/operator"];

const OWN_PATHS = ["/healthz", "/readyz", "/assets", ...ROUTER_PATHS];

/**
 * Whether the kit itself answers at this path. A router mounted there before the kit's own would answer in its place.
 */
export function isOwnPath(path: string): boolean {
  return OWN_PATHS.some((own) => `${path.toLowerCase()}/`.startsWith(`${own}/`));
}
