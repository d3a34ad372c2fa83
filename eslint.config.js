import js from "@eslint/js";
import prettier from "eslint-config-prettier";
import jest from "eslint-plugin-jest";
import sorting from "eslint-plugin-simple-import-sort";
import yml from "eslint-plugin-yml";
import ts from "typescript-eslint";

const CODE = ["**/*.{js,mjs,ts,tsx}"];
/** "error" sorts the imports, with `npx eslint --fix .`. */
const SORTED_IMPORTS = "error";

export default ts.config(
  { ignores: ["dist/", "dist.*/", "coverage/", ".data/", "src/database/client/", "**/your-service/client/"] },
  {
    files: CODE,
    extends: [js.configs.recommended, ...ts.configs.recommended],
    rules: {
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "no-console": "off",
      eqeqeq: ["error", "always", { null: "ignore" }],
    },
  },
  {
    files: CODE,
    plugins: { sorting },
    rules: {
      // Packages, then files from the outermost folder inward, in one block; a type stands where its value would.
      "sorting/imports": [SORTED_IMPORTS, { groups: [["^\\u0000", "^node:", "^@?\\w", "^\\.\\.", "^\\."]] }],
    },
  },
  {
    // Promises that nobody awaits are how work gets lost: the checker must see each one.
    files: ["{src,packages,test,dev,workshop,examples}/**/*.{ts,tsx}"],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: false }],
      "@typescript-eslint/await-thenable": "error",
    },
  },
  {
    files: ["src/**/*.{ts,tsx}"],
    ignores: ["src/environment.ts"],
    rules: {
      "no-restricted-properties": [
        "error",
        {
          object: "process",
          property: "env",
          message: "The environment is read in src/environment.ts only.",
        },
      ],
    },
  },
  {
    // On the way of each provision. V8 copies such an object member by member: two of them took a seventh of its time.
    files: [
      "src/http/{authenticate,pipelines,requests,standstill}.ts",
      "src/{logging/request-log,partner-api/*}.ts",
      "src/resources/{answers,provision,store}.ts",
      "src/database/{group-commit,statement}.ts",
      "src/vault/vault.ts",
    ],
    rules: {
      "no-restricted-syntax": [
        "error",
        ...[
          ":function ObjectPattern > RestElement",
          ":function ObjectExpression > SpreadElement:not(:first-child)",
        ].map((selector) => ({ selector, message: "Name the members: a provision waits for this copy." })),
      ],
    },
  },
  { files: ["{test,packages/*/test}/**/*.test.ts"], ...jest.configs["flat/recommended"] },
  {
    files: ["{test,packages/*/test}/**/*.test.ts"],
    rules: {
      "jest/expect-expect": "off",
      "jest/no-standalone-expect": "off",
      "jest/no-conditional-expect": "off",
    },
  },
  // What prettier accepts and somebody meant otherwise: a value that was forgotten, a version 20.10 that is the number 20.1.
  {
    files: ["**/*.{yml,yaml}"],
    extends: [yml.configs["flat/recommended"]],
    rules: { "yml/no-trailing-zeros": "error" },
  },
  // There, a variable without a value is passed on.
  { files: ["compose.yaml"], rules: { "yml/no-empty-mapping-value": "off" } },
  prettier,
);
