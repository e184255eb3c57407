//! An agent's task list.

use store::{Error, Todo, TodoStatus};

use crate::support::{add_user, store};

fn todo(content: &str, status: TodoStatus) -> Todo {
    Todo { content: content.to_owned(), status }
}

#[tokio::test]
async fn a_list_is_its_chats_own_and_replaced_as_a_whole() {
    let (store, _) = store().await;
    let (ann, eve) = (add_user(&store, "ann").await.id, add_user(&store, "eve").await.id);
    let (chat, other) = (store.create_chat(ann).await.unwrap().id, store.create_chat(ann).await.unwrap().id);
    let list: Vec<Todo> = TodoStatus::ALL.map(|status| todo(status.as_str(), status)).into();
    store.set_todos(ann, &chat, &list).await.unwrap();
    assert_eq!(store.todos(ann, &chat).await.unwrap(), list);
    assert_eq!(store.todos(ann, &other).await.unwrap(), []);
    assert!(matches!(store.todos(eve, &chat).await, Err(Error::NotFound { .. })));
    assert!(matches!(store.set_todos(eve, &chat, &[]).await, Err(Error::NotFound { .. })));
    store.set_todos(ann, &chat, &list[1..]).await.unwrap();
    assert_eq!(store.todos(ann, &chat).await.unwrap(), list[1..]);
}

#[tokio::test]
async fn a_list_has_an_end_and_a_refused_one_changes_nothing() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let chat = store.create_chat(ann).await.unwrap().id;
    let full = vec![todo(&"é".repeat(500), TodoStatus::Pending); 100];
    store.set_todos(ann, &chat, &full).await.unwrap();
    for bad in [
        vec![todo("x", TodoStatus::Pending); 101],
        vec![todo(&"é".repeat(501), TodoStatus::Pending)],
        vec![todo(" \n", TodoStatus::Pending)],
    ] {
        assert!(matches!(store.set_todos(ann, &chat, &bad).await, Err(Error::Invalid { .. })));
    }
    assert_eq!(store.todos(ann, &chat).await.unwrap(), full);
    store.delete_chat(ann, &chat).await.unwrap();
}
