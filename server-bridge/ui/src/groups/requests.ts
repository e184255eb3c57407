/** Requests about groups and chains. */
import { useMemo } from "react";
import { type ApiClient, taken } from "../api";
import { useActions } from "../state/context";
import type { Access, AgentPut, ChainPut, ChainTextAsk, GateReply, GrantMode, WorkspaceText } from "./types";

export function createRequests(client: ApiClient) {
  const of = (group: number) => ({ params: { path: { group } } });
  const agent = (group: number, handle: string) => ({ params: { path: { group, handle } } });
  const person = (group: number, name: string) => ({ params: { path: { group, name } } });
  const grant = (group: number, handle: string, name: string) => ({ params: { path: { group, handle, name } } });
  const run = (group: number, number: number) => ({ params: { path: { group, run: number } } });
  return {
    groups: () => taken(client.GET("/api/v1/groups")),
    create: (title: string) => taken(client.POST("/api/v1/groups", { body: { title } })),
    group: (group: number) => taken(client.GET("/api/v1/groups/{group}", of(group))),
    rename: (group: number, title: string) => taken(client.PUT("/api/v1/groups/{group}", { ...of(group), body: { title } })),
    remove: async (group: number) => void (await client.DELETE("/api/v1/groups/{group}", of(group))),

    putPerson: (group: number, name: string, access: Access) =>
      taken(client.PUT("/api/v1/groups/{group}/people/{name}", { ...person(group, name), body: { access } })),
    removePerson: async (group: number, name: string) => void (await client.DELETE("/api/v1/groups/{group}/people/{name}", person(group, name))),
    putAgent: (group: number, handle: string, put: AgentPut) =>
      taken(client.PUT("/api/v1/groups/{group}/agents/{handle}", { ...agent(group, handle), body: put })),
    templates: () => taken(client.GET("/api/v1/agent-templates")),
    workspace: (group: number, handle: string) => taken(client.GET("/api/v1/groups/{group}/agents/{handle}/workspace", agent(group, handle))),
    makeWorkspace: (group: number, handle: string, files: WorkspaceText[]) =>
      taken(client.POST("/api/v1/groups/{group}/agents/{handle}/workspace", { ...agent(group, handle), body: { files } })),
    removeAgent: async (group: number, handle: string) => void (await client.DELETE("/api/v1/groups/{group}/agents/{handle}", agent(group, handle))),
    putGrant: (group: number, handle: string, name: string, mode: GrantMode) =>
      taken(client.PUT("/api/v1/groups/{group}/agents/{handle}/grants/{name}", { ...grant(group, handle, name), body: { mode } })),
    removeGrant: async (group: number, handle: string, name: string) =>
      void (await client.DELETE("/api/v1/groups/{group}/agents/{handle}/grants/{name}", grant(group, handle, name))),
    setLead: (group: number, handle: string | null) => taken(client.PUT("/api/v1/groups/{group}/lead", { ...of(group), body: { agent: handle } })),

    entries: (group: number, before?: number) =>
      taken(client.GET("/api/v1/groups/{group}/entries", { params: { path: { group }, query: { before } } })),
    /** With the same `sendId`, a repeated request posts nothing again. */
    post: (group: number, text: string, sendId: string) =>
      taken(client.POST("/api/v1/groups/{group}/entries", { ...of(group), body: { text, send_id: sendId } })),
    calls: (group: number) => taken(client.GET("/api/v1/groups/{group}/calls", of(group))),
    cancelCall: async (group: number, call: number) =>
      void (await client.POST("/api/v1/groups/{group}/calls/{call}/cancel", { params: { path: { group, call } } })),

    /** The conversations on messengers that show the group's log. */
    conversations: (group: number) => taken(client.GET("/api/v1/groups/{group}/conversations", of(group))),
    endConversation: async (group: number, id: string) =>
      void (await client.DELETE("/api/v1/groups/{group}/conversations/{id}", { params: { path: { group, id } } })),

    chainTemplates: () => taken(client.GET("/api/v1/chain-templates")),
    chains: (group: number) => taken(client.GET("/api/v1/groups/{group}/chains", of(group))),
    /** A chain that is being written, in both forms; nothing is stored. */
    chainText: (group: number, ask: ChainTextAsk) => taken(client.POST("/api/v1/groups/{group}/chain-text", { ...of(group), body: ask })),
    putChain: (group: number, name: string, put: ChainPut) =>
      taken(client.PUT("/api/v1/groups/{group}/chains/{name}", { ...person(group, name), body: put })),
    removeChain: async (group: number, name: string) => void (await client.DELETE("/api/v1/groups/{group}/chains/{name}", person(group, name))),
    beginRun: (group: number, name: string, request: string, sendId: string) =>
      taken(client.POST("/api/v1/groups/{group}/chains/{name}/runs", { ...person(group, name), body: { request, send_id: sendId } })),
    /** The newest runs; with `before`, the runs that began earlier than that one. */
    runs: (group: number, before?: number) => taken(client.GET("/api/v1/groups/{group}/runs", { params: { path: { group }, query: { before } } })),
    run: (group: number, number: number) => taken(client.GET("/api/v1/groups/{group}/runs/{run}", run(group, number))),
    stopRun: (group: number, number: number) => taken(client.POST("/api/v1/groups/{group}/runs/{run}/stop", run(group, number))),
    answerGate: (group: number, gate: number, reply: GateReply, text: string | null) =>
      taken(client.POST("/api/v1/groups/{group}/gates/{gate}", { params: { path: { group, gate } }, body: { reply, text } })),
  };
}

export type GroupRequests = ReturnType<typeof createRequests>;

export function useGroupRequests(): GroupRequests {
  const { client } = useActions();
  return useMemo(() => createRequests(client), [client]);
}
