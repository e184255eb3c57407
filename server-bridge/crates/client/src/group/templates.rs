//! `sandbridge group chain template`: the server's templates of chains.

use api::chain::ChainTemplate;

use crate::failure::Failure;
use crate::http::Client;
use crate::output::both;

/// Runs `chain template`: prints one template, or lists them.
pub(super) async fn shown(client: &mut Client, name: Option<String>) -> Result<(String, String), Failure> {
    let all = client.chain_templates().await?;
    let Some(name) = name else { return Ok(both(&all, list(&all))) };
    let template = all.iter().find(|template| template.name == name).ok_or_else(|| unknown(&all, &name))?;
    Ok(both(template, template.text.trim_end()))
}

/// The templates, as lines for people.
fn list(all: &[ChainTemplate]) -> String {
    let mut lines: Vec<_> =
        all.iter().map(|template| format!("{:9} {}", template.name, template.what)).collect();
    lines.push(
        "`sandbridge group chain template NAME` prints one; replace its handles with those of your agents, and add it with `set`"
            .to_owned(),
    );
    lines.join("\n")
}

/// The error for a name that no template has.
fn unknown(all: &[ChainTemplate], name: &str) -> Failure {
    let names: Vec<_> = all.iter().map(|template| template.name.as_str()).collect();
    Failure::usage(format!("there is no template {name}; the templates are {}", names.join(", ")))
}
