/** The texts of each part of the page; a new part is added here and in each other language. */
export { chat } from "./chat";
export { chats } from "./chats";
export { frame } from "./frame";
export { groups } from "./groups";
export { panels } from "./panels";
export { settings } from "./settings";
export { setup } from "./setup";
export { where } from "./where";
