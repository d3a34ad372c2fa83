import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { administer, databaseUrl } from "./database.ts";

/** The SQL statements of a page of docs/: a list for each code block. */
export function statementsOf(page: string): string[][] {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), "utf8");
  return [...text.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, block]) =>
    block!
      .split(";")
      .map((one) => one.trim())
      .filter((one) => one !== ""),
  );
}

/** A database of its own on the server, with the two roles of docs/database.md under names of their own. */
export function twoRoles(serverUrl: string) {
  const mark = randomBytes(5).toString("hex");
  const name = `addon_roles_${mark}`;
  const urls = {
    server: serverUrl,
    administrator: databaseUrl(serverUrl, name),
    owner: as(`addon_owner_${mark}`, "one"),
    service: as(`addon_service_${mark}`, "another"),
  };
  const own = (text: string) =>
    text
      .replaceAll(/\baddon_(owner|service)\b/g, (role) => `${role}_${mark}`)
      .replaceAll(/\bDATABASE addon\b/g, `DATABASE ${name}`);

  function as(role: string, password: string): string {
    return Object.assign(new URL(databaseUrl(serverUrl, name)), { username: role, password }).href;
  }

  /** Runs statements one after the other; returns the rows of the last. */
  function ask(whom: keyof typeof urls, texts: string[]): Promise<Record<string, unknown>[]> {
    return administer(urls[whom], async (one) => {
      let rows: Record<string, unknown>[] = [];
      for (const text of texts) rows = await one(own(text));
      return rows;
    });
  }

  return {
    ownerUrl: urls.owner,
    serviceUrl: urls.service,
    ask,
    close: () =>
      ask("server", [
        `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`,
        `DROP ROLE IF EXISTS addon_owner, addon_service`,
      ]),
  };
}
