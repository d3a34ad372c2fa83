import { addonAt } from "./addresses.ts";
import { FormOf } from "./form-of.tsx";
import type { ShowPage } from "./page.ts";
import { Facts, Section } from "./parts.tsx";

const hidden = new Set(["resource_token", "user_scoped_resource_token"]);

/** The signed form that takes a customer's browser to the add-on, ready to be posted; with `at-once` in the query it posts itself. */
export const signOnPage: ShowPage = ({ control, query, attempt }, id) => {
  const { name } = control.addon(id);
  const email = attempt?.values["email"] ?? (typeof query["email"] === "string" ? query["email"] : "");
  const app = typeof query["app"] === "string" ? query["app"] : undefined;
  const isAtOnce = query["at-once"] !== undefined && attempt === null;
  const { action, form } = control.signOnForm(id, email.trim() || undefined, app);
  return {
    title: `Sign on to ${name}`,
    part: "apps",
    content: (
      <>
        <h1>Sign on to {name}</h1>
        <p class="lead">
          Your browser posts this form to <code>{action}</code>. The platform has just signed it. It is valid
          for five minutes, and only once.
        </p>
        <div class="columns">
          <Section title="The form" id="form-panel">
            <Facts
              of={Object.entries(form).map(
                ([member, value]) =>
                  [member, <code>{hidden.has(member) ? "[secret]" : value}</code>] as const,
              )}
            />
            <form method="post" action={action} id="go" data-at-once={isAtOnce || undefined}>
              {Object.entries(form).map(([member, value]) => (
                <input type="hidden" name={member} value={value} />
              ))}
              <button type="submit">Continue to the add-on</button>
            </form>
          </Section>
          <Section title="Test without signing on" id="try-panel">
            <p>
              The sandbox posts such a form itself, and the answer is in the ledger. Your browser is not
              signed on.
            </p>
            <FormOf
              form="try-sign-on"
              action={`${addonAt(name)}/sign-on`}
              attempt={attempt}
              button="Post the form"
              look="secondary"
            >
              <input type="hidden" name="email" value={form["email"] ?? ""} />
            </FormOf>
            <p>
              <a href={addonAt(name)}>Back to {name}</a>
            </p>
          </Section>
        </div>
      </>
    ),
  };
};
