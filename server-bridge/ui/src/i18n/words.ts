/** The type of a translation: every entry of the English texts, as a string. */
import type * as en from "./en";

type Texts<T> = { [Key in keyof T]: T[Key] extends string ? string : Texts<T[Key]> };

export type Words = Texts<typeof en>;

/** The texts of one part of the page in another language. */
export type Room<Name extends keyof Words> = Words[Name];
