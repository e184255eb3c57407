// @vitest-environment jsdom
import { expect, test } from "vitest";
import { base64Of, nameOf } from "./archive";

test("a file is read unchanged, whatever its type and bytes", async () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
  const read = await base64Of(new File([bytes], "a,b;base64,c.zip", { type: "application/zip" }));
  expect(Uint8Array.from(atob(read), (char) => char.charCodeAt(0))).toEqual(bytes);
  expect(await base64Of(new File([], "empty"))).toBe("");
});

test("an archive's name is used without its extensions", () => {
  expect(["guard.tar.gz", "guard", ".zip", ""].map(nameOf)).toEqual(["guard", "guard", "", ""]);
});
