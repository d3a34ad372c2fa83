/** A pair of values: for the light look, and for the dark one. */
export type Both = Readonly<Record<"light" | "dark", string>>;

/** The backgrounds on which links and texts stand: the page, a card, and code. */
export const BACKGROUNDS: Readonly<Record<keyof Both, readonly string[]>> = {
  light: ["#f6f7f9", "#ffffff", "#eef1f5"],
  dark: ["#11151b", "#191f28", "#242c38"],
};

/** The colours of all pages, on top of Pico: the sandbox's, as a test checks (packages/sandbox/pages/pages.css). */
export const PALETTE = `
:root:not([data-theme]) {
  --pico-font-family-sans-serif: system-ui, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", sans-serif;
  --pico-border-radius: 0.5rem;
  --pico-background-color: #f6f7f9; --pico-card-background-color: #fff; --pico-card-sectioning-background-color: #f6f7f9;
  --pico-color: #1f2733; --pico-h1-color: #141b26; --pico-h2-color: #141b26; --pico-h3-color: #141b26;
  --pico-muted-color: #566072; --pico-muted-border-color: #dfe3ea;
  --pico-form-element-background-color: #fff; --pico-form-element-border-color: #8993a5; --pico-form-element-placeholder-color: #667085;
  --pico-code-background-color: #eef1f5; --pico-code-color: #333d4d;
  --pico-primary: #2a55c9; --pico-primary-hover: #1d3f9c; --pico-primary-underline: rgb(42 85 201 / 40%);
  --pico-primary-background: #2a55c9; --pico-primary-border: #2a55c9;
  --pico-primary-hover-background: #1d3f9c; --pico-primary-hover-border: #1d3f9c;
  --pico-primary-focus: rgb(42 85 201 / 55%); --pico-primary-inverse: #fff;
  --good: #1a6b3c; --good-soft: #e2f3e8; --busy: #7a4b00; --busy-soft: #fbeecf;
  --bad: #ab2323; --bad-soft: #fce6e4; --gone-soft: #e9ecf1;
}
@media (prefers-color-scheme: dark) { :root:not([data-theme]) {
  --pico-background-color: #11151b; --pico-card-background-color: #191f28; --pico-card-sectioning-background-color: #11151b;
  --pico-color: #dbe1ea; --pico-h1-color: #f2f5f9; --pico-h2-color: #f2f5f9; --pico-h3-color: #f2f5f9;
  --pico-muted-color: #9da8ba; --pico-muted-border-color: #2c3542;
  --pico-form-element-background-color: #11151b; --pico-form-element-border-color: #68758a; --pico-form-element-placeholder-color: #8390a5;
  --pico-code-background-color: #242c38; --pico-code-color: #d3dae5;
  --pico-primary: #9bb8ff; --pico-primary-hover: #c0d2ff; --pico-primary-underline: rgb(155 184 255 / 40%);
  --pico-primary-background: #3a63d4; --pico-primary-border: #3a63d4;
  --pico-primary-hover-background: #4c74e0; --pico-primary-hover-border: #4c74e0;
  --pico-primary-focus: rgb(155 184 255 / 60%);
  --good: #7fd6a0; --good-soft: #16352a; --busy: #f0c274; --busy-soft: #3a2e16;
  --bad: #ff9d94; --bad-soft: #41201f; --gone-soft: #2a323e;
} }
`;
