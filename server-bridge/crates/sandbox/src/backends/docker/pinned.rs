//! The image for containers as long as the server runs.

/// The number of digits shown of an image's id.
const SHOWN_ID_DIGITS: usize = 12;

/// An image as it was when the server first used it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PinnedImage {
    /// The name in the server's configuration.
    pub(super) name: String,
    /// The engine's id, `sha256:…`.
    pub(super) id: String,
    /// The image's digest in its registry, `sha256:…`, if it was pulled from one.
    digest: Option<String>,
}

impl PinnedImage {
    pub(super) fn new(name: &str, id: String, repository_digests: &[String]) -> Self {
        let repository = repository(name);
        let digest = repository_digests.iter().find_map(|text| {
            let (from, digest) = text.split_once('@')?;
            (from == repository).then(|| digest.to_owned())
        });
        Self { name: name.to_owned(), id, digest }
    }

    /// The image as people see it: its name with its pinned id or digest.
    pub(super) fn shown(&self) -> String {
        match &self.digest {
            // The name contains it already.
            _ if self.name.contains('@') => self.name.clone(),
            Some(digest) => format!("{}@{digest}", self.name),
            None => {
                let digits = self.id.strip_prefix("sha256:").unwrap_or(&self.id);
                format!("{} ({})", self.name, &digits[..digits.len().min(SHOWN_ID_DIGITS)])
            }
        }
    }
}

/// An image's name without its tag or digest.
fn repository(name: &str) -> &str {
    let name = name.split('@').next().unwrap_or(name);
    match name.rfind(':') {
        // A colon before a slash belongs to a registry's port.
        Some(colon) if !name[colon..].contains('/') => &name[..colon],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_shown_with_what_it_is_pinned_to() {
        let id = format!("sha256:{}", "ab".repeat(32));
        let digests = ["other@sha256:1".to_owned(), "localhost:5000/team/tools@sha256:2".to_owned()];
        for (name, digests, shown) in [
            ("debian:slim", &["debian@sha256:1".to_owned()][..], "debian:slim@sha256:1"),
            ("debian", &["debian@sha256:1".to_owned()], "debian@sha256:1"),
            ("localhost:5000/team/tools", &digests, "localhost:5000/team/tools@sha256:2"),
            ("localhost:5000/team/tools:3", &digests, "localhost:5000/team/tools:3@sha256:2"),
            ("made-here:1", &[], "made-here:1 (abababababab)"),
            ("debian@sha256:1", &["debian@sha256:1".to_owned()], "debian@sha256:1"),
        ] {
            assert_eq!(PinnedImage::new(name, id.clone(), digests).shown(), shown);
        }
    }
}
