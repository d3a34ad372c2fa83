import { Layout } from "./layout.tsx";

interface Refusal {
  message: string;
  /** Where it can be tried again; absent where that would not help. */
  retryAt?: string | undefined;
}

/** Nothing to go on with: what is wrong, for the person and for whoever wrote the client. */
export function RefusalPage({ message, retryAt }: Refusal) {
  return (
    <Layout title="This did not work" isNarrow>
      <article>
        <h1>This did not work</h1>
        <p>{message}</p>
        <p>
          <small>You were not sent back to the application, and it was given nothing.</small>
        </p>
        {retryAt !== undefined && <a href={retryAt}>Start again</a>}
      </article>
    </Layout>
  );
}
