//! The formats of providers: OpenAI's `/v1/embeddings`, which most servers speak too, and Ollama's own `/api/embed`.

use std::str::FromStr;

use e5::Role;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::transport::Call;

/// The protocol of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// `POST /v1/embeddings`.
    OpenAi,
    /// `POST /api/embed`.
    Ollama,
}

/// The prefixes of questions and passages that models require, by a part of the model's name. Sources: the model cards.
const PREFIXES: [(&str, &str, &str); 3] = [
    ("nomic-embed-text", "search_query: ", "search_document: "),
    ("multilingual-e5", "query: ", "passage: "),
    ("e5-", "query: ", "passage: "),
];

#[derive(Serialize)]
struct Asked<'a> {
    model: &'a str,
    input: Vec<String>,
    /// Asks OpenAI for numbers in JSON; Ollama has no other form.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding_format: Option<&'static str>,
    /// Makes Ollama shorten a text that is too long, instead of refusing the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    truncate: Option<bool>,
}

#[derive(Deserialize)]
struct OpenAiAnswer {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<Number>,
}

#[derive(Deserialize)]
struct OllamaAnswer {
    embeddings: Vec<Vec<Number>>,
}

/// A number, or the null that some servers write for NaN and infinity, which JSON cannot express.
#[derive(Deserialize)]
struct Number(Option<f32>);

impl Protocol {
    /// The protocol's name in settings and in the names of models.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
        }
    }

    pub(super) fn write(self, model: &str, role: Role, texts: &[String]) -> Call {
        let prefix = PREFIXES.iter().find(|(name, ..)| model.contains(name));
        let prefix = match (prefix, role) {
            (None, _) => "",
            (Some((_, query, _)), Role::Query) => query,
            (Some((_, _, passage)), Role::Passage) => passage,
        };
        let input = texts.iter().map(|text| format!("{prefix}{text}")).collect();
        let (path, encoding_format, truncate) = match self {
            Self::OpenAi => ("/v1/embeddings", Some("float"), None),
            Self::Ollama => ("/api/embed", None, Some(true)),
        };
        let asked = Asked { model, input, encoding_format, truncate };
        let body = serde_json::to_vec(&asked).expect("texts are always JSON");
        Call { path, headers: vec![("accept", "application/json".to_owned())], body: vec![body.into()] }
    }

    /// The numbers of each text, in the order of the texts.
    ///
    /// # Errors
    /// [`Error::Nonsense`] if the body is not in the protocol's format.
    pub(super) fn read(self, body: &[u8]) -> Result<Vec<Vec<f32>>, Error> {
        let numbers =
            |numbers: Vec<Number>| numbers.into_iter().map(|number| number.0.unwrap_or(f32::NAN)).collect();
        match self {
            Self::OpenAi => {
                let OpenAiAnswer { mut data } = serde_json::from_slice(body)
                    .map_err(|_| Error::Nonsense("something that is not a list of vectors"))?;
                // Servers without an index answer in the order of the texts.
                data.sort_by_key(|entry| entry.index.unwrap_or(0));
                let is_whole =
                    data.iter().enumerate().all(|(at, entry)| entry.index.is_none_or(|index| index == at));
                if !is_whole {
                    return Err(Error::Nonsense("vectors that do not belong to the texts"));
                }
                Ok(data.into_iter().map(|entry| numbers(entry.embedding)).collect())
            }
            Self::Ollama => {
                let OllamaAnswer { embeddings } = serde_json::from_slice(body)
                    .map_err(|_| Error::Nonsense("something that is not a list of vectors"))?;
                Ok(embeddings.into_iter().map(numbers).collect())
            }
        }
    }
}

impl FromStr for Protocol {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "openai" => Ok(Self::OpenAi),
            "ollama" => Ok(Self::Ollama),
            _ => Err("use openai or ollama"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(call: &Call) -> String {
        String::from_utf8(call.body.concat()).unwrap()
    }

    #[test]
    fn requests_have_the_form_of_each_provider_and_the_prefix_of_each_model() {
        let texts = ["a \"b\"".to_owned(), "c".to_owned()];
        let openai = Protocol::OpenAi.write("text-embedding-3-small", Role::Query, &texts);
        assert_eq!(openai.path, "/v1/embeddings");
        let expected =
            r#"{"model":"text-embedding-3-small","input":["a \"b\"","c"],"encoding_format":"float"}"#;
        assert_eq!(body(&openai), expected);
        let ollama = Protocol::Ollama.write("nomic-embed-text:v1.5", Role::Passage, &texts[1..]);
        assert_eq!(ollama.path, "/api/embed");
        let expected = r#"{"model":"nomic-embed-text:v1.5","input":["search_document: c"],"truncate":true}"#;
        assert_eq!(body(&ollama), expected);
        assert!(
            body(&Protocol::OpenAi.write("intfloat/multilingual-e5-large", Role::Query, &texts))
                .contains("query: c")
        );
    }

    #[test]
    fn answers_are_put_into_the_order_of_the_texts() {
        let answer = br#"{"object":"list","data":[{"object":"embedding","index":1,"embedding":[3,4e-1]},{"object":"embedding","index":0,"embedding":[1.5,-2]}],"model":"m","usage":{"prompt_tokens":8,"total_tokens":8}}"#;
        assert_eq!(Protocol::OpenAi.read(answer).unwrap(), [vec![1.5, -2.0], vec![3.0, 0.4]]);
        let answer = br#"{"data":[{"embedding":[1]},{"embedding":[2]}]}"#;
        assert_eq!(Protocol::OpenAi.read(answer).unwrap(), [[1.0], [2.0]]);
        let answer = br#"{"model":"m","embeddings":[[1,2],[3,4]],"total_duration":14143917,"load_duration":1019500,"prompt_eval_count":8}"#;
        assert_eq!(Protocol::Ollama.read(answer).unwrap(), [[1.0, 2.0], [3.0, 4.0]]);
        assert!(Protocol::Ollama.read(br#"{"embeddings":[[1,null]]}"#).unwrap()[0][1].is_nan());
    }

    #[test]
    fn what_is_no_answer_is_told() {
        for body in [
            "",
            "<html>",
            "{}",
            r#"{"data":[{"embedding":"AAAA"}]}"#,
            r#"{"data":{}}"#,
            r#"{"embeddings":[1]}"#,
        ] {
            for protocol in [Protocol::OpenAi, Protocol::Ollama] {
                assert!(matches!(protocol.read(body.as_bytes()), Err(Error::Nonsense(_))), "{body}");
            }
        }
        for indices in [[0, 0], [1, 2], [0, 2]] {
            let [first, second] = indices;
            let answer = format!(
                r#"{{"data":[{{"index":{first},"embedding":[1]}},{{"index":{second},"embedding":[1]}}]}}"#
            );
            assert!(matches!(Protocol::OpenAi.read(answer.as_bytes()), Err(Error::Nonsense(_))), "{answer}");
        }
    }
}
