//! `sandbridge group chain template`: chains to begin with, as the server has them.

use api::chain::ChainTemplate;

use crate::failure::Failure;
use crate::http::Client;
use crate::output::both;

/// `chain template`: one of them, or the list.
pub(super) async fn shown(client: &mut Client, name: Option<String>) -> Result<(String, String), Failure> {
    let all = client.chain_templates().await?;
    let Some(name) = name else { return Ok(both(&all, list(&all))) };
    let template = all.iter().find(|template| template.name == name).ok_or_else(|| unknown(&all, &name))?;
    Ok(both(template, template.text.trim_end()))
}

/// A list of them for people.
fn list(all: &[ChainTemplate]) -> String {
    let mut lines: Vec<_> =
        all.iter().map(|template| format!("{:9} {}", template.name, template.what)).collect();
    lines.push(
        "`sandbridge group chain template NAME` prints one; put your agents' handles into it for `set`"
            .to_owned(),
    );
    lines.join("\n")
}

/// The error for a name that none has.
fn unknown(all: &[ChainTemplate], name: &str) -> Failure {
    let names: Vec<_> = all.iter().map(|template| template.name.as_str()).collect();
    Failure::usage(format!("there is no template {name}; there are {}", names.join(", ")))
}
