import type { Person } from "../../sign-in/sign-in.ts";

/**
 * Whether `OPERATOR_ACCOUNTS` lists an account, by its id or its e-mail. An entry without "@" is compared with ids
 * alone, because what the platform calls an e-mail need not look like one. Only ASCII letters are compared without
 * case: in Unicode, the lower case of the kelvin sign is an ordinary "k", so another person's e-mail could match.
 */
export function isListed(accounts: readonly string[], { id, email }: Pick<Person, "id" | "email">): boolean {
  return accounts.some(
    (account) => inSmallLetters(account) === inSmallLetters(account.includes("@") ? email : id),
  );
}

function inSmallLetters(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
