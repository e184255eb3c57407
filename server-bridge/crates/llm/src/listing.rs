//! A provider's list of models: `GET /v1/models`, which OpenAI, Anthropic and most others answer in the same form.

use serde::Deserialize;

use crate::error::Error;

/// A received list: `{"data": [{"id"}, …]}`, or only the array, as some proxies send it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Listed {
    Wrapped { data: Vec<Entry> },
    Bare(Vec<Entry>),
}

#[derive(Deserialize)]
struct Entry {
    id: String,
}

/// The names in a list, in order.
///
/// # Errors
/// [`Error::Nonsense`]: it is not such a list.
pub(crate) fn read_listing(body: &[u8]) -> Result<Vec<String>, Error> {
    let (Listed::Wrapped { data } | Listed::Bare(data)) = serde_json::from_slice(body)
        .map_err(|_| Error::Nonsense("something that is not a list of models"))?;
    Ok(data.into_iter().map(|entry| entry.id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_of_openai_anthropic_and_proxies_are_read() {
        let openai =
            br#"{"object":"list","data":[{"id":"gpt-x","object":"model","created":1,"owned_by":"a"}]}"#;
        assert_eq!(read_listing(openai).unwrap(), ["gpt-x"]);
        let anthropic = br#"{"data":[{"type":"model","id":"claude-x","display_name":"X","created_at":"2025-01-01T00:00:00Z"}],"has_more":false,"first_id":"claude-x","last_id":"claude-x"}"#;
        assert_eq!(read_listing(anthropic).unwrap(), ["claude-x"]);
        assert_eq!(read_listing(br#"[{"id":"b"},{"id":"a"}]"#).unwrap(), ["b", "a"]);
        assert_eq!(read_listing(br#"{"object":"list","data":[]}"#).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_list_is_told() {
        for body in ["", "<html>Welcome</html>", "{}", r#"{"data":null}"#, r#"{"data":[{"id":1}]}"#, "[1]"] {
            let error = read_listing(body.as_bytes()).unwrap_err();
            assert!(matches!(error, Error::Nonsense(_)), "{body:?}: {error:?}");
        }
    }
}
