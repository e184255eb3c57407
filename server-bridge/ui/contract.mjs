// Writes a hash of openapi.json into `schema.d.ts`; a test of the server checks it.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const [description, schema] = ["src/api/openapi.json", "src/api/schema.d.ts"];
const made = createHash("sha256").update(readFileSync(description)).digest("hex");
writeFileSync(schema, `// Made by \`npm run contract\` of openapi.json, sha256 ${made}\n${readFileSync(schema, "utf8")}`);
