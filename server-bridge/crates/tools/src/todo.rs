//! `todo_write` and `todo_list`: the model's task list in this chat, stored and shown.

use schemars::JsonSchema;
use serde::Deserialize;
use store::{Todo, TodoStatus};

use super::{Failure, Outcome, Work};
use crate::{Ported, Services, ported};
use agent::approval::Access;
use agent::tool::{Beside, Live, Rules, ToolContext, TypedTool};
use agent::tool::{CardData, TodoItem};

/// The new to-do list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Write {
    /// All items in order, including those that are done: the whole list is replaced. At most 100.
    items: Vec<Item>,
}

/// One item of the list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Item {
    /// The task, in at most 500 characters.
    content: String,
    /// The status of the task.
    status: Status,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

impl From<Status> for TodoStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Pending => Self::Pending,
            Status::InProgress => Self::InProgress,
            Status::Completed => Self::Completed,
        }
    }
}

impl TypedTool for Write {
    type Services = Services;

    const NAME: &'static str = "todo_write";
    const DESCRIPTION: &'static str = "Keeps this chat's to-do list, which the user sees. Use it for work of \
three steps or more: write it before you begin, keep one item in_progress, and mark each completed as soon as it is.";
    // Later calls see the new list, so no other call runs at the same time.
    const RULES: Rules = Rules::of(Access::Read).beside(Beside::Nothing).without_machine();

    fn hint(&self) -> &str {
        let current = self.items.iter().find(|item| matches!(item.status, Status::InProgress));
        current.map_or("", |item| item.content.as_str())
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        let todos: Vec<Todo> = self
            .items
            .iter()
            .map(|item| Todo { content: item.content.clone(), status: item.status.into() })
            .collect();
        match work.services.store.set_todos(work.user.id, work.agent()?.chat, &todos).await {
            Ok(()) => Ok(shown(&todos)),
            Err(error @ store::Error::Invalid { .. }) => Err(Failure::Message(error.to_string())),
            Err(error) => Err(ported(error).into()),
        }
    }
}

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {}

impl TypedTool for List {
    type Services = Services;

    const NAME: &'static str = "todo_list";
    const DESCRIPTION: &'static str = "Reads this chat's to-do list.";
    const RULES: Rules = Rules::of(Access::Read).without_machine();

    fn hint(&self) -> &str {
        ""
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        Ok(shown(&work.services.store.todos(work.user.id, work.agent()?.chat).await.ported()?))
    }
}

/// The list in the form that models and people read.
fn shown(todos: &[Todo]) -> Outcome {
    let lines: Vec<String> = todos
        .iter()
        .map(|todo| {
            let mark = match todo.status {
                TodoStatus::Pending => " ",
                TodoStatus::InProgress => "~",
                TodoStatus::Completed => "x",
            };
            format!("[{mark}] {}", todo.content)
        })
        .collect();
    let item = |todo: &Todo| TodoItem { content: todo.content.clone(), status: todo.status.as_str() };
    let text = if lines.is_empty() { "the list is empty".to_owned() } else { lines.join("\n") };
    let data = CardData::Todos(todos.iter().map(item).collect());
    Outcome { data: Some(data), ..Outcome::part(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_shown_as_lines_and_as_data() {
        let todo = |content: &str, status| Todo { content: content.to_owned(), status };
        let outcome = shown(&TodoStatus::ALL.map(|status| todo("x", status)));
        assert_eq!(outcome.text, "[ ] x\n[~] x\n[x] x");
        let Some(CardData::Todos(items)) = outcome.data else { panic!("no data") };
        let statuses: Vec<&str> = items.iter().map(|item| item.status).collect();
        assert_eq!(statuses, ["pending", "in_progress", "completed"]);
        assert_eq!(shown(&[]).text, "the list is empty");
    }
}
