import { Layout } from "./layout.tsx";

/** Nothing to go on with: what is wrong, for the person and for whoever wrote the client. */
export function RefusalPage({ message }: { message: string }) {
  return (
    <Layout title="This did not work">
      <article class="narrow">
        <h1>This did not work</h1>
        <p class="word">{message}</p>
        <p>
          <small>You were not sent back to the application, and it was given nothing.</small>
        </p>
      </article>
    </Layout>
  );
}
