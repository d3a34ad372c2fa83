/** The most refusals remembered. */
const MOST_REMEMBERED = 1_000;
/** Two refused without a reason within this time, and no success since: the client secret is presumed wrong. */
const TOGETHER_MS = 60_000;

/**
 * Who was refused with one client secret. A platform may answer a dead code or token and a wrong client secret with the
 * same 401; so whether it is the secret shows only when it happens to several while nobody succeeds (assumed, section
 * 3). Who was refused before a success is known to be dead, and says nothing about the secret any more.
 */
export function createRefusals(now: () => number = () => performance.now()) {
  const refused = new Map<string, { at: number; isDead: boolean }>();
  return {
    count: () => refused.size,
    has: (who: string) => refused.has(who),
    /** Whether this one was refused before another one succeeded. */
    isDead: (who: string) => refused.get(who)?.isDead ?? false,
    /** Notes a refusal; true: the secret is to be presumed wrong. */
    note(who: string): boolean {
      const isDead = this.isDead(who);
      refused.delete(who);
      refused.set(who, { at: now(), isDead });
      if (refused.size > MOST_REMEMBERED) refused.delete(refused.keys().next().value!);
      const isNews = (each: { at: number; isDead: boolean }) => !each.isDead && each.at > now() - TOGETHER_MS;
      return !isDead && [...refused.values()].filter(isNews).length > 1;
    },
    /** The secret works for this one. */
    succeeded(who: string): void {
      refused.delete(who);
      for (const each of refused.values()) each.isDead = true;
    },
  };
}
