import { Layout } from "./layout.tsx";

interface Refusal {
  message: string;
  /** The path for trying again; absent if that would not help. */
  retryAt?: string | undefined;
}

/** A request that cannot continue: says what is wrong, for the person and for the developer of the client. */
export function RefusalPage({ message, retryAt }: Refusal) {
  return (
    <Layout title="This did not work" isNarrow>
      <article>
        <h1>This did not work</h1>
        <p>{message}</p>
        <p>
          <small>You were not redirected to the application, and it received nothing.</small>
        </p>
        {retryAt !== undefined && <a href={retryAt}>Start again</a>}
      </article>
    </Layout>
  );
}
