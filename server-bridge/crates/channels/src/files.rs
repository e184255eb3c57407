//! Stores the files of messages in the chat's workspace, and reads files of the workspace to send them.

use futures_util::stream;
use platforms::event::{Media, MediaKind};
use platforms::{FileOut, Platform};
use store::{ChatId, Outgoing, User, UserId};
use tokio::time::{Instant, timeout, timeout_at};

use crate::answers::{Target, parts};
use crate::error::Result;
use crate::house::Inner;
use crate::house::Live;
use crate::limits::{FILE_TIMEOUT, MEDIA_MAX, MEDIA_MAX_BYTES};

impl Inner {
    /// Stores the files of a message; returns their paths, and a sentence for each file that could not be stored, in the user's language.
    pub(crate) async fn store_media(
        &self,
        platform: &dyn Platform,
        (user, chat): (&User, &ChatId),
        media: &[Media],
    ) -> (Vec<String>, Vec<String>) {
        let (mut paths, mut failures) = (Vec::new(), Vec::new());
        // Only one file of a message is in memory at a time.
        let Ok(_place) = self.files_in.acquire().await else { return (paths, failures) };
        let deadline = Instant::now() + self.around.media_timeout;
        let language = self.chats.language(user.id);
        let mut fail = |text: String| failures.push(language.translated(&text).into_owned());
        for one in media.iter().take(MEDIA_MAX) {
            let name = match (one.name.trim(), one.kind) {
                ("", MediaKind::Image) => "picture",
                ("", MediaKind::File) => "file",
                (name, _) => name,
            };
            let storing = timeout_at(deadline, self.store_one(platform, user, chat, name, one)).await;
            match storing.unwrap_or_else(|_| Err("the transfer took too long".to_owned())) {
                Ok(path) => paths.push(path),
                Err(why) => {
                    let shown: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
                    fail(format!("[the file {shown:?} was not stored: {why}]"));
                }
            }
        }
        if media.len() > MEDIA_MAX {
            fail(format!(
                "[{} more files were not stored: at most {MEDIA_MAX} files are stored per message]",
                media.len() - MEDIA_MAX
            ));
        }
        (paths, failures)
    }

    async fn store_one(
        &self,
        platform: &dyn Platform,
        user: &User,
        chat: &ChatId,
        name: &str,
        media: &Media,
    ) -> Result<String, String> {
        if media.bytes.is_some_and(|bytes| bytes > MEDIA_MAX_BYTES) {
            return Err(format!("it is larger than {} MiB", MEDIA_MAX_BYTES / (1024 * 1024)));
        }
        let fetched = platform.fetch(media, MEDIA_MAX_BYTES).await;
        let bytes = fetched.map_err(|failure| failure.to_string())?;
        let size = Some(bytes.len() as u64);
        let content = stream::iter([Ok::<_, std::convert::Infallible>(bytes)]);
        let stored = self.chats.attach(user, chat, name, size, content).await;
        let stored = stored.map_err(|error| error.message())?;
        Ok(format!("{} on {}", stored.path, stored.place))
    }

    /// Reads a file of a chat's workspace, to send it.
    pub(crate) async fn file(
        &self,
        user: UserId,
        chat: &ChatId,
        path: &str,
        most_bytes: u64,
    ) -> Result<FileOut, String> {
        if most_bytes == 0 {
            return Err("this messenger cannot receive files".to_owned());
        }
        let user = self.store.user_by_id(user).await.map_err(|error| error.shown())?;
        let user = user.ok_or_else(|| "the user's account was removed".to_owned())?;
        let read = timeout(FILE_TIMEOUT, self.chats.read_file(&user, chat, path, most_bytes)).await;
        let read = read.map_err(|_| "the chat's machine did not answer in time".to_owned())?;
        let bytes = read.map_err(|error| error.message())?;
        let name = path.rsplit('/').next().unwrap_or(path);
        let ending = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        let is_image = matches!(ending.as_str(), "png" | "jpg" | "jpeg" | "gif" | "webp");
        Ok(FileOut { name: name.to_owned(), bytes, is_image })
    }

    /// Sends a message that gives the reason why a file was not sent.
    pub(crate) async fn tell_no_file(&self, live: &Live, row: &Outgoing, why: &str) -> Result<()> {
        let target = Target {
            conversation: row.conversation.clone(),
            is_group: row.is_group,
            reply_json: row.reply_json.clone(),
            user: row.user,
        };
        let text = format!("The file was not sent: {why}");
        let text = match row.user {
            Some(user) => self.chats.language(user).translated(&text).into_owned(),
            None => text,
        };
        let payloads = parts(&*live.platform, &platforms::Styled::plain(&text), "");
        let rows = target.rows(live.account.id, &format!("no-file/{}", row.id), payloads);
        Ok(self.store.add_outgoing(live.account.id, live.account.user, &rows).await?)
    }
}
