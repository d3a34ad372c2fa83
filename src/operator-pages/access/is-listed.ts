import type { Person } from "../../sign-in/sign-in.ts";

/**
 * Whether an account stands in `OPERATOR_ACCOUNTS`, by its id or its e-mail. An id is compared with ids alone: what the
 * platform calls an e-mail need not look like one. Case does not matter, in ASCII alone: in Unicode the small letter of
 * "K" (the sign for kelvin) is an ordinary "k", and whoever has such an e-mail is somebody else.
 */
export function isListed(accounts: readonly string[], { id, email }: Pick<Person, "id" | "email">): boolean {
  return accounts.some(
    (account) => inSmallLetters(account) === inSmallLetters(account.includes("@") ? email : id),
  );
}

function inSmallLetters(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
