//! Templates of chains. Their agents are examples, which a user replaces with the handles of agents in their group. Each template exists in
//! every language.

mod en;
mod zh;

use api::chain::ChainTemplate;
use api::language::Language;
use chains::text;

/// A template of a chain.
struct Template {
    /// The template's name, the same in all languages.
    name: &'static str,
    /// The template's title, as shown to people.
    title: &'static str,
    /// The result of the chain, as a phrase that completes a sentence.
    what: &'static str,
    /// The definition of the chain, as text.
    text: &'static str,
}

/// Returns all templates in a language.
pub(crate) fn all(language: Language) -> Vec<ChainTemplate> {
    let templates = match language {
        Language::English => en::ALL,
        Language::Chinese => zh::ALL,
    };
    templates.iter().map(view).collect()
}

fn view(template: &Template) -> ChainTemplate {
    let Template { name, title, what, text } = template;
    ChainTemplate {
        name: (*name).to_owned(),
        title: (*title).to_owned(),
        what: (*what).to_owned(),
        text: (*text).to_owned(),
        chain: text::read(text).expect("a test reads the templates of all languages"),
    }
}

#[cfg(test)]
mod tests {
    use api::chain::ChainDraft;
    use chains::check;

    use super::*;

    #[test]
    fn each_template_is_the_same_chain_in_each_language_and_its_text_is_as_the_server_writes_it() {
        let (english, chinese) = (all(Language::English), all(Language::Chinese));
        assert_eq!(english.len(), 4);
        for template in english.iter().chain(&chinese) {
            check(&template.chain).unwrap();
            assert_eq!(text::write(&template.chain), template.text, "{}", template.name);
            assert!(
                template.chain.steps.iter().any(|step| step.gate),
                "{}: no person is asked",
                template.name
            );
        }
        // The parts of a template that must be equal in all languages: everything except the words.
        let plan = |template: &ChainTemplate| {
            let mut chain: ChainDraft = template.chain.clone();
            chain.steps.iter_mut().for_each(|step| step.instruction.clear());
            (template.name.clone(), chain)
        };
        assert_eq!(
            english.iter().map(plan).collect::<Vec<_>>(),
            chinese.iter().map(plan).collect::<Vec<_>>()
        );
        let is_chinese = |text: &str| text.chars().any(|character| ('一'..='鿿').contains(&character));
        for (one, other) in english.iter().zip(&chinese) {
            assert!([&one.title, &one.what, &one.text].iter().all(|text| text.is_ascii()), "{}", one.name);
            assert!([&other.title, &other.what].iter().all(|text| is_chinese(text)), "{}", other.name);
            assert!(other.chain.steps.iter().all(|step| is_chinese(&step.instruction)), "{}", other.name);
        }
    }
}
