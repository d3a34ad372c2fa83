/** The paths of the marketplace. */
export const HOME = "/";
export const MARKET = "/marketplace";
export const LEDGER = `${MARKET}/ledger`;
export const PLATFORM = `${MARKET}/platform`;
export const LIVE = `${MARKET}/live`;

export const appAt = (name: string) => `${MARKET}/apps/${encodeURIComponent(name)}`;
export const addonAt = (name: string) => `${MARKET}/addons/${encodeURIComponent(name)}`;
