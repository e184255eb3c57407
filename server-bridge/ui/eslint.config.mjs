/** Checks the rules of React's hooks in the whole page; `tsc` checks types. No rule is off, and no line can be exempted. */
import parser from "@babel/eslint-parser";
import hooks from "eslint-plugin-react-hooks";

const TYPESCRIPT = {
  requireConfigFile: false,
  babelOptions: { configFile: false, babelrc: false, parserOpts: { plugins: ["typescript", "jsx"] } },
};

export default [
  { ignores: ["dist", "src/api/schema.d.ts"] },
  { linterOptions: { noInlineConfig: true } },
  { files: ["**/*.ts"], languageOptions: { parser, parserOptions: { ...TYPESCRIPT, babelOptions: { ...TYPESCRIPT.babelOptions, parserOpts: { plugins: ["typescript"] } } } } },
  { files: ["**/*.tsx"], languageOptions: { parser, parserOptions: TYPESCRIPT } },
  { files: ["**/*.{ts,tsx}"], ...hooks.configs.flat["recommended-latest"] },
];
