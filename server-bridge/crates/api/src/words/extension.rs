//! The enums of fixed words in documents of extensions.

words! {
    /// Who defined a hook, an MCP server or an HTTP tool.
    ExtensionLayer {
        /// The server's administrator.
        Managed = "managed",
        /// The user.
        User = "user",
        /// A file of the workspace that its repository shares.
        Workspace = "workspace",
        /// A file of the workspace that is not shared.
        WorkspaceLocal = "workspace-local",
    }
}

words! {
    /// The state of a hook.
    HookState {
        /// The hook runs.
        Runs = "runs",
        /// The hook waits for its user's approval.
        Waiting = "waiting",
        /// The hook's layer does not enable commands.
        Inert = "inert",
    }
}

words! {
    /// The decision of hooks in a trial.
    HookDecision {
        /// The call would be allowed without asking the user.
        Allow = "allow",
        /// The user would be asked.
        Ask = "ask",
        /// The call would be denied.
        Deny = "deny",
        /// The turn would end.
        Stop = "stop",
        /// The hooks would have no effect.
        None = "none",
    }
}

words! {
    /// The kind of something that needs its user's approval.
    TrustKind {
        /// A hook at a point of a turn.
        Hook = "hook",
        /// An MCP server.
        McpServer = "mcp_server",
        /// An executable file that is a tool.
        CustomTool = "custom_tool",
        /// A skill whose text is part of every prompt.
        Skill = "skill",
        /// A tool that is an HTTP request.
        HttpTool = "http_tool",
    }
}

words! {
    /// The state of the approval of something that a workspace defines.
    TrustState {
        /// The definition was approved, and has an effect.
        Approved = "approved",
        /// The definition waits for its user's approval.
        Waiting = "waiting",
        /// The definition cannot be approved, because not everything that it runs can be checked.
        Refused = "refused",
    }
}

words! {
    /// The connection to an MCP server.
    McpTransport {
        /// A program on the user's machine, over its standard input and output.
        Stdio = "stdio",
        /// A server on the network.
        Http = "http",
    }
}

words! {
    /// The state of an MCP server.
    McpServerState {
        /// The server is used.
        Ready = "ready",
        /// The server waits for its user's approval.
        Waiting = "waiting",
        /// Another layer defines a server with this name.
        Shadowed = "shadowed",
    }
}

words! {
    /// The state of an HTTP tool.
    HttpToolState {
        /// The tool is offered to models.
        Ready = "ready",
        /// The tool waits for its user's approval.
        Waiting = "waiting",
        /// Another layer defines a tool with this name.
        Shadowed = "shadowed",
    }
}

words! {
    /// The state of an MCP server's tool.
    McpToolState {
        /// The tool is offered to models.
        Ready = "ready",
        /// The tool changed since it was accepted, and waits to be accepted again.
        Changed = "changed",
        /// The tool's definition cannot be used.
        Invalid = "invalid",
    }
}

words! {
    /// The result of the last scan of a collection's folder.
    CollectionSync {
        /// The folder has not been scanned.
        Never = "never",
        /// The collection has the same files as the folder, except for documents that wait.
        Synced = "synced",
        /// The runner could not be reached.
        Offline = "offline",
        /// The folder, or most of it, was deleted: its documents are kept until their owner confirms that.
        Gone = "gone",
        /// The folder could not be read for another reason.
        Failed = "failed",
    }
}

words! {
    /// The state of a document's newest content.
    DocumentState {
        /// The content waits to be indexed; until then the previous version is searched.
        Waiting = "waiting",
        /// The content is indexed and searched.
        Ready = "ready",
        /// The content cannot be indexed; the previous version is searched, if there is one.
        Failed = "failed",
    }
}
