import type { Page } from "./page.ts";
import type { Told } from "./problem.ts";

export function problemPage({ status, title, happened, advice, next }: Told, base: string): Page {
  return {
    ...{ status, title },
    content: (
      <>
        <p>{happened}</p>
        <p>{advice}</p>
        {next && (
          <p>
            <a href={base + next.path} role="button">
              {next.label}
            </a>
          </p>
        )}
      </>
    ),
  };
}
