/** Loads the activity in chats that are not open, for a page that has just loaded; later changes arrive as events. */
import type { Dispatch } from "react";
import { type Api, taken } from "../api";
import { CHATS_LOOKED_AT_COUNT, MESSAGES_LOOKED_AT_COUNT } from "../limits";
import type { Chat } from "../types";
import type { Action } from "./state";

/** Loads the last messages of the newest chats, one after the other, since nothing waits for them. */
export async function lookAround(api: Api, dispatch: Dispatch<Action>, chats: Chat[], openId: string | null): Promise<void> {
  const others = chats.filter((chat) => chat.id !== openId).slice(0, CHATS_LOOKED_AT_COUNT);
  for (const { id } of others) {
    const params = { path: { id }, query: { limit: MESSAGES_LOOKED_AT_COUNT } };
    const page = await taken(api.client.GET("/api/v1/chats/{id}/messages", { params }));
    dispatch({ type: "chat_looked_at", chat_id: id, messages: page.messages });
  }
}
