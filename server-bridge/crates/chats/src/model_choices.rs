//! The models of chats, for the tool that shows and chooses one.

use std::sync::Weak;

use futures_util::future::BoxFuture;
use store::{ChatId, User};
use tools::ModelChoices;

use crate::house::{ChatService, House};

/// Access to the models of a service's chats, without keeping the service alive.
pub(crate) struct Choices(pub(crate) Weak<House>);

impl ModelChoices for Choices {
    fn of_chat<'a>(&'a self, user: &'a User, chat: &'a ChatId) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let house = self.0.upgrade().ok_or_else(stops)?;
            let chain = house.models.of_chat(&house, user, chat, None).await;
            chain.map(|chain| chain.setup.origin().to_string()).map_err(|error| error.message())
        })
    }

    fn choose<'a>(
        &'a self,
        user: &'a User,
        chat: &'a ChatId,
        choice: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let service = ChatService(self.0.upgrade().ok_or_else(stops)?);
            service.choose_model(user, Some(chat), choice).await.map(drop).map_err(|error| error.message())
        })
    }
}

fn stops() -> String {
    "the server is stopping".to_owned()
}
