import { expect, test } from "vitest";
import { nameProblem } from "./names";

test("names follow the server's rule", () => {
  for (const name of ["a", "laptop-2", "x".repeat(63), "0.b_c"]) expect(nameProblem(name)).toBeNull();
  for (const name of ["", "A", "-a", "a b", "x".repeat(64), "none", "auto"]) expect(nameProblem(name)).not.toBeNull();
});
