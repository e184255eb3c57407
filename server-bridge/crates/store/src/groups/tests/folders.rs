use super::*;
use crate::limits::SETTING_VALUE_MAX_BYTES;

#[tokio::test]
async fn the_chat_of_an_agent_begins_in_its_folder_and_follows_it_to_another_one() {
    let World { store, ada, group, coder, .. } = World::new().await;
    let put = async |folder, runner| {
        let draft = AgentDraft { folder, runner, ..draft("coder") };
        assert_eq!(store.put_group_agent(group, ada.id, draft).await.unwrap(), coder);
    };
    let folder = async || store.group_agent(coder).await.unwrap().folder;
    assert_eq!(folder().await, "");
    put(Some("agents/coder"), "laptop").await;
    assert_eq!(folder().await, "agents/coder");
    let agent = store.group_agent(coder).await.unwrap();
    let chat = store.agent_chat(&agent, "@coder", "ask").await.unwrap();
    let cwd = async || store.chat_cwd(ada.id, &chat).await.unwrap();
    assert_eq!(cwd().await, "agents/coder");
    assert_eq!(store.folder_of_agent_in(&chat).await.unwrap().as_deref(), Some("agents/coder"));

    // The chat keeps its current directory until the agent's folder or machine changes.
    store.set_chat_cwd(ada.id, &chat, "agents/coder/src").await.unwrap();
    put(None, "laptop").await;
    put(Some("agents/coder"), "laptop").await;
    assert_eq!((cwd().await.as_str(), folder().await.as_str()), ("agents/coder/src", "agents/coder"));
    put(None, "desk").await;
    assert_eq!(cwd().await, "agents/coder");
    put(Some("other"), "desk").await;
    assert_eq!((cwd().await.as_str(), folder().await.as_str()), ("other", "other"));
    put(Some(""), "desk").await;
    assert_eq!((cwd().await.as_str(), folder().await.as_str()), ("", ""));

    let own = store.create_chat(ada.id).await.unwrap().id;
    assert_eq!(store.folder_of_agent_in(&own).await.unwrap(), None);
    let long = "x".repeat(SETTING_VALUE_MAX_BYTES + 1);
    let draft = AgentDraft { folder: Some(&long), ..draft("coder") };
    assert!(matches!(store.put_group_agent(group, ada.id, draft).await, Err(Error::Invalid { .. })));
}
