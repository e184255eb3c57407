import { defineConfig } from "@playwright/test";
import base from "./playwright.config";

/** The page that README's first screens open (tests/e2e/readme.rs); `README_PAGE` is its address. */
export default defineConfig({ ...base, testDir: "readme", testMatch: "*.readme.ts", workers: 1 });
